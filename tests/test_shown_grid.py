"""The difference of two models, each on its own corpus and part."""

from pathlib import Path

import pytest

from dashboard.app import create_app
from dashboard.pages import TOPICS
from dashboard.statistics.data import HeadGrid
from dashboard.statistics.parts import part_of
from dashboard.statistics.shown import LinkCounts, grid_notices, shown_grid
from dashboard.ui.files import provenance_of
from dashboard.web.context import Context, resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from tests.client import csv_rows
from tests.components import components
from tests.counts import counted
from tests.stores import Ingest
from tests.tiny_models import save_model


@pytest.fixture(scope="module")
def served_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest, genre_data: Path) -> ServedStore:
    """A store of two models: one on few sentences without columns; the shown one on more sentences, with genres."""
    folder = tmp_path_factory.mktemp("two_corpora")
    ingest(folder / "store", sentences=5, model=save_model(folder / "first-bert", seed=3))
    return ServedStore(
        ingest(folder / "store", sentences=30, data=genre_data, model=save_model(folder / "second-bert", seed=4))
    )


def difference(served_store: ServedStore, query: str) -> tuple[Context, HeadGrid]:
    other = list(served_store.snapshot().models)[1]
    context = resolve(served_store, "statistics", f"?values=difference&other={other}&{query}")
    return context, shown_grid(
        LinkCounts.of(context), counted(context.corpus, part_of(context.corpus, context.state.where))
    )


def name(served_store: ServedStore) -> str:
    first = served_store.snapshot().corpus(list(served_store.snapshot().models)[1])
    return f"{first.attributes['model_id']} on {first.corpus_attributes['name']}"


@pytest.mark.slow
def test_the_other_model_is_named_with_its_corpus(served_store: ServedStore) -> None:
    assert (
        difference(served_store, "statistic=to_sep")[1].title
        == f"attention to [SEP] minus that of {name(served_store)}"
    )


def test_files_of_a_difference_name_both_models_and_corpora(served_store: ServedStore) -> None:
    context, _ = difference(served_store, "")
    client, other = create_app(served_store).server.test_client(), context.snapshot.corpus(context.state.other)
    file = client.get(f"{data_link(context.corpus)}/heat-map.csv?values=difference&other={other.name}").data
    (provenance,) = {row["provenance"] for row in csv_rows(file)}
    for model in (context.corpus, other):
        assert model.name in provenance
        assert model.attributes["corpus"] in provenance
        assert model.attributes["corpus"] in provenance_of(context.snapshot, context.corpus, context.state)["source"]
        assert model.name in provenance_of(context.snapshot, context.corpus, context.state)["stem"]


def test_the_note_says_how_much_of_the_other_corpus_is_subtracted(served_store: ServedStore) -> None:
    context, grid = difference(served_store, "where=position:0..0")
    tokens = context.snapshot.corpus(context.state.other).n_tokens
    share = f"5 of {tokens} tokens ({500 / tokens:.1f}%)"
    assert grid.note == f"Subtracted: means over {share} of {name(served_store)}."
    assert grid_notices(context.snapshot, context.corpus, context.state) == ()


def test_a_condition_that_the_other_corpus_lacks_gets_a_notice(served_store: ServedStore) -> None:
    context, _ = difference(served_store, "where=data.genre:war")
    notice = "Ignored a filter: there is no column “data.genre”."
    assert grid_notices(context.snapshot, context.corpus, context.state) == (f"{name(served_store)}: {notice}",)


def test_an_empty_part_of_the_other_corpus_gets_a_notice(served_store: ServedStore) -> None:
    context, grid = difference(served_store, "where=frequency:30..")
    assert grid_notices(context.snapshot, context.corpus, context.state) == (
        f"No tokens of {name(served_store)} match, so there is nothing to subtract. Remove a filter.",
    )
    assert {text for row in grid.hover for text in row} == {"no such tokens"}


def test_where_nothing_can_be_subtracted_there_is_a_message(served_store: ServedStore) -> None:
    context = resolve(served_store, "statistics", "?values=difference&statistic=entropy")
    grid = shown_grid(LinkCounts.of(context), counted(context.corpus, part_of(context.corpus, None)))
    assert grid.kind == "value"
    assert grid_notices(context.snapshot, context.corpus, context.state) == (
        "No other statistic is measured in nats: showing values. Choose another model, or another statistic.",
    )


def test_a_store_of_one_model_offers_no_other(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "statistics", "?values=difference&statistic=distance")
    assert grid_notices(context.snapshot, context.corpus, context.state)[0].endswith("Choose another statistic.")


def test_page_compare_says_why_models_on_two_corpora_are_not_compared(served_store: ServedStore) -> None:
    context = resolve(served_store, "compare", "")
    page = TOPICS["compare"].layout(context)
    (alert,) = (each for each in components(page.above) if getattr(each, "id", None) == "no-other")
    assert " was ingested on reviews, not on genres. " in "".join(map(str, alert.children.children))
