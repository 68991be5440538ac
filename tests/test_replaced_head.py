"""Change of the vectors where one head is replaced, on tab Role of page Head."""

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.sentence.replaced_head import compute_replaced, draw_replaced
from dashboard.sentence.sample import SampleChange
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import open_corpus
from tests.client import shown

ON = "?layer=0&head=1&tab=role"


@pytest.fixture(scope="module")
def served_store(roles_store: str) -> ServedStore:
    return ServedStore(roles_store)


@pytest.fixture(scope="module")
def roles_client(served_store: ServedStore) -> FlaskClient:
    return create_app(served_store).server.test_client()


@pytest.fixture(scope="module")
def measured(roles_store: str) -> list[SampleChange]:
    from dashboard.sentence.replace import replace_heads

    return [replace_heads(open_corpus(roles_store), [(0, 1)], kind) for kind in ("rule", "mean", "even", "off")]


def test_each_replacement_has_the_numbers_of_its_sample(
    served_store: ServedStore, measured: list[SampleChange]
) -> None:
    drawn = str(compute_replaced(resolve(served_store, "/head", f"{ON}&replaced=0-1")))
    for found in measured:
        assert f"{found.vectors.mean:.4f}" in drawn
        assert f"{100 * found.vectors.share:.2f}%" in drawn
        assert f"{found.vectors.spearman:.3f}" in drawn


def test_a_row_opens_the_same_measurement_on_page_sentence(measured: list[SampleChange]) -> None:
    drawn = str(draw_replaced(LinkState(page="head", layer=0, head=1, replaced="0-1"), measured))
    for field in ("/sentence?", "without=0-1", "instead=mean", "sampled=1"):
        assert field in drawn
    assert "replaced=0-1" not in drawn


def test_a_head_is_measured_where_its_reader_asks_for_it(roles_client: FlaskClient) -> None:
    page = shown(roles_client, "beside", "/head", f"{ON}&replaced=1-0")
    assert "Measure over 100 sentences" in page
    assert "A row opens on page Sentence" not in page
    assert "A row opens on page Sentence" in shown(roles_client, "beside", "/head", f"{ON}&replaced=0-1")


def test_a_store_without_roles_has_no_button(client: FlaskClient) -> None:
    assert "If it were not there" not in shown(client, "beside", "/head", ON)
