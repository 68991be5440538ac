"""A second head beside that of page Head: its points, its link, and the page's text on both."""

import re

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.canvas.spec import Picture, encode_points
from dashboard.pages import TOPICS, picture_of
from dashboard.points.colours import codes_of
from dashboard.points.head_tokens import HeadTokens, column_of
from dashboard.points.point_set import values
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import Corpus


@pytest.fixture(scope="module")
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


def link(served_store: ServedStore, query: str) -> Context:
    return resolve(served_store, "/head", f"?{query}")


def picture(context: Context) -> Picture:
    shown = picture_of(context)
    assert shown is not None
    return shown


def page(context: Context) -> str:
    shown = TOPICS["head"].layout(context)
    return str([shown.above, shown.below])


def hrefs(context: Context) -> list[str]:
    return re.findall(r"href='(/head[^']*)'", page(context))


def test_the_points_of_both_heads_come_together(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    answer = client.get(f"{base}/points/pca-exact-2d/1/0.bin?tokens=20&pinned=0-1")
    places = [HeadTokens(tiny_corpus, 20, *head).places("pca-exact-2d") for head in ((1, 0), (0, 1))]
    assert answer.data == encode_points(np.concatenate(places), width=2)


def test_colours_of_both_heads_are_on_the_scale_of_the_first(
    client: FlaskClient, base: str, tiny_corpus: Corpus
) -> None:
    answer = client.get(f"{base}/colours/norm/1/0.bin?tokens=20&pinned=0-1", headers={"Accept-Encoding": "identity"})
    norm = column_of(tiny_corpus, "norm")
    first, second = (values(norm, HeadTokens(tiny_corpus, 20, *head)) for head in ((1, 0), (0, 1)))
    expected = np.concatenate([codes_of(norm, first), codes_of(norm, second, first)])
    np.testing.assert_array_equal(np.frombuffer(answer.data[16:], np.uint8).reshape(2, 20, 2), expected)


def test_a_pinned_head_that_the_model_lacks_is_not_found(client: FlaskClient, base: str) -> None:
    assert client.get(f"{base}/points/pca-exact-2d/1/0.bin?tokens=20&pinned=9-1").status_code == 404


def test_a_link_to_a_pinned_head_that_the_model_lacks_gets_a_notice(served_store: ServedStore) -> None:
    (notice,) = link(served_store, "pinned=2-0").notices
    assert notice == "pinned=2-0 is not a head of the model (layers 0-1, heads 0-1); ignoring it"


def test_the_picture_has_both_heads_with_their_names(served_store: ServedStore) -> None:
    shown = picture(link(served_store, "layer=1&head=0&pinned=0-1&size=norm&token=3"))
    assert [(panel.name, panel.value) for panel in shown.panels] == [("L1 H0", ""), ("L0 H1", "pinned")]
    assert all(str(url).endswith("&pinned=0-1") for url in (shown.points, shown.raster, shown.sizes))
    assert shown.second is not None
    assert "/0/1/query/3.json" in str(shown.second.focus)
    assert shown.second.region == "pca-exact-2d,0,1"


def test_the_head_itself_is_not_shown_twice(served_store: ServedStore) -> None:
    same = link(served_store, "layer=1&head=0&pinned=1-0")
    assert len(picture(same).panels) == 1
    assert "Open another head to see both." in page(same)


def test_a_neighbouring_head_keeps_the_pinned_one(served_store: ServedStore) -> None:
    assert "/head?layer=1&head=1&pinned=0-1" in hrefs(link(served_store, "layer=1&head=0&pinned=0-1"))


def test_pinning_swapping_and_unpinning_are_links(served_store: ServedStore) -> None:
    assert "/head?layer=1&head=0&pinned=1-0" in hrefs(link(served_store, "layer=1&head=0&at=0.5,0.5,2,0,0"))
    both = hrefs(link(served_store, "layer=1&head=0&pinned=0-1"))
    assert {"/head?layer=0&head=1&pinned=1-0", "/head?layer=1&head=0"} <= set(both)


def test_the_page_gives_the_fidelity_of_each(served_store: ServedStore) -> None:
    said = page(link(served_store, "layer=1&head=0&pinned=0-1&size=norm"))
    assert "Queries and keys of L1 H0 and L0 H1" in said
    assert "Fidelity of L1 H0: rank correlation" in said
    assert "Fidelity of L0 H1: rank correlation" in said
    assert "Sizes of both heads are on the scale of L1 H0." in said
