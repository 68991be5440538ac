"""Stores of earlier releases open, are sound and show the same. `tests.former_stores` made them."""

import json
from pathlib import Path

import numpy as np
import pytest

from dashboard.app import create_app
from dashboard.web.served_store import ServedStore
from store.__main__ import main
from tests.former_stores import archives
from tests.former_stores.record import read
from tests.test_pages import page

LINKS = [
    ("/", ""), ("/heads", ""), ("/head", "?layer=1&head=1"), ("/statistics", ""), ("/map", ""), ("/relations", ""),
    ("/features", ""), ("/sentence", "?sentence=2"), ("/compare", ""), ("/notes", ""), ("/store", ""),
]  # fmt: skip


@pytest.fixture(scope="module", params=archives.NAMES)
def former(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a former commit, and the numbers that the commit read from it."""
    return archives.unpack(request.param, tmp_path_factory.mktemp("former"))


def test_a_former_store_shows_the_same_numbers(former: Path) -> None:
    shown = np.load(former / "shown.npz")
    now = read(str(former / "store"))
    assert set(shown.files) <= set(now)
    for name in shown.files:
        # Attention is computed when it is read: another machine adds its products in another order.
        atol = 1e-6 if name.startswith("attention") else 0
        np.testing.assert_allclose(now[name], shown[name], rtol=0, atol=atol, err_msg=name)


def test_a_former_store_is_sound(former: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(former / "store")]) == 0
    assert "is sound" in capsys.readouterr().out


def test_every_page_of_a_former_store_opens(former: Path) -> None:
    client = create_app(ServedStore(str(former / "store"))).server.test_client()
    answers = {link: page(client, *link) for link in LINKS}
    assert [link for link, answer in answers.items() if "cannot be shown" in json.dumps(answer)] == []
