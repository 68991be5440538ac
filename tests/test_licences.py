"""The licences of the packages that Headscape installs."""

import re

import pytest

from tests.licences import PAGE, licence, locked_packages, page

#: Names of the GPL and the AGPL, without the LGPL.
COPYLEFT = re.compile(r"\bA?GPL|(?<!Lesser )\bGeneral Public License|Affero", re.IGNORECASE)


@pytest.mark.parametrize("name", locked_packages())
def test_no_package_has_the_gpl_or_the_agpl(name: str) -> None:
    assert not COPYLEFT.search(licence(name))


@pytest.mark.parametrize(
    "stated",
    ["GNU General Public License v3 (GPLv3)", "GPL-2.0-or-later", "AGPLv3", "GNU Affero General Public License v3"],
)
def test_the_gpl_is_known_by_each_of_its_names(stated: str) -> None:
    assert COPYLEFT.search(stated)


@pytest.mark.parametrize("stated", ["LGPL-3.0-only", "GNU Lesser General Public License v3 (LGPLv3)"])
def test_the_lgpl_is_another_licence(stated: str) -> None:
    assert not COPYLEFT.search(stated)


def test_the_page_of_licences_is_that_of_the_installed_packages() -> None:
    assert PAGE.read_text("utf-8") == page(), "`python -m tests.licences` writes docs/licences.md"
