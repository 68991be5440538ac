"""Page Relations: its text on heads, and the pairs that it shows."""

import io
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from dash import html
from flask.testing import FlaskClient

import store
from dashboard.relations.accuracies import NO_PAIR, best_of_relations, read_accuracies
from dashboard.relations.data import (
    NO_OTHER,
    Examples,
    PairExample,
    WordOfSentence,
    _best_head,
    best_of,
    clear_gains,
    examples,
    links_of,
)
from dashboard.relations.found_words import Governors, governors
from dashboard.relations.page import HeadExamples, _pair_row, draw_examples
from dashboard.ui.glossary import TERMS
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store.kernels.relations import DIRECTIONS, halves
from store.results import best_heads
from store.schema.corpus import DECODINGS, METHODS
from tests.client import above
from tests.components import components

Page = Callable[..., str]


@pytest.fixture(scope="module")
def base(bank_corpus: store.Corpus) -> str:
    return data_link(bank_corpus)


def test_the_page_says_that_annotation_is_gold(bank_client: FlaskClient) -> None:
    assert "Gold annotation of the data" in above(bank_client, "/relations")


def test_a_row_of_the_table_says_what_its_relation_is(bank_client: FlaskClient) -> None:
    assert re.search(r"\['bdi', {}, 'det'\]+, ' \(determiner\)'", above(bank_client, "/relations"))


def test_every_relation_has_a_row_with_its_best_head(bank_client: FlaskClient, bank_corpus: store.Corpus) -> None:
    page = above(bank_client, "/relations")
    for row in best_of(bank_corpus):
        assert f"L{row.layer} H{row.head}" in page
        assert row.relation in page


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_best_head_stands_beside_a_fixed_offset(
    direction: str, bank_client: FlaskClient, bank_corpus: store.Corpus
) -> None:
    cell = bank_corpus.relations.sel(relation="det", direction=direction)
    place = np.unravel_index(np.nanargmax(cell.chosen_accuracy.values), cell.chosen_accuracy.shape)
    accuracy, (low, high) = cell.reported_accuracy.values[place], cell.interval.values[:, *place]
    than = "more" if low > cell.offset_accuracy else "less" if high < cell.offset_accuracy else "not clearly more"
    page = above(bank_client, "/relations", f"?relation=det&direction={direction}")
    assert f"L{place[0]} H{place[1]} links {100 * accuracy:.1f}" in page
    assert f"{100 * low:.1f} to {100 * high:.1f}), {than} than a fixed " in page


def test_the_page_underlines_the_terms_that_it_uses(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", "?relation=det")
    for name in ("governor", "silver", "offset"):
        assert TERMS[name].meaning in page


def test_a_table_of_uas_underlines_what_it_counts() -> None:
    numbers = xr.Dataset(
        {"uas": (("approach", "decoding"), np.full((len(METHODS), len(DECODINGS)), 0.5))},
        {"approach": list(METHODS), "decoding": list(DECODINGS)},
        {"trained_on": 1, "reported_on": 1, "words": 2},
    ).assign(interval=(("approach", "decoding", "bound"), np.full((len(METHODS), len(DECODINGS), 2), 0.5)))
    assert TERMS["uas"].meaning in str(governors(Governors(numbers, "gold annotation of the data", "")))


def test_a_pattern_without_a_pair_says_what_to_do_in_place_of_its_chart(
    bank_client: FlaskClient, bank_corpus: store.Corpus
) -> None:
    assert links_of(bank_corpus, "PUNCT -> *").pairs.values.tolist() == [0, 0]
    page = above(bank_client, "/relations", "?relation=PUNCT -> *")
    assert "No pair in the reported half of the sentences, so no head has an accuracy. Choose another relation" in page
    assert "best offset nan" not in page
    assert "'heat-map'" not in page
    assert "'heat-map'" in above(bank_client, "/relations")


def test_a_pattern_without_a_reported_pair_has_one_sentence_and_neither_a_ranking_nor_pairs(
    bank_client: FlaskClient,
) -> None:
    page = above(bank_client, "/relations", "?relation=PUNCT -> *")
    assert page.count("No pair in the reported half") == 1
    assert not re.findall(r"Heads (?:ranked by|at) |Pairs that L|No pair is |of 0 pairs", page)
    examples_alone = draw_examples(LinkState(), HeadExamples("PUNCT -> *", (0, 0), Examples((), (), 0, 0)))
    assert [each.children for each in examples_alone] == [NO_PAIR]


def test_the_best_head_of_a_relation_without_a_reported_pair_has_no_accuracy(bank_corpus: store.Corpus) -> None:
    nan = float("nan")
    row = replace(best_of(bank_corpus)[0], accuracy=nan, interval=(nan, nan), offset_accuracy=nan, random=nan, pairs=0)
    shown = replace(read_accuracies(bank_corpus, LinkState(), "det"), best=(row,))
    cells = [each for each in components(best_of_relations(LinkState(), shown)) if isinstance(each, html.Td)]
    assert [cell.children for cell in cells if getattr(cell, "className", "") == "number"] == ["", "", "", "", "0"]


def reported_alone(corpus: store.Corpus) -> str:
    """A pattern of two lemmas whose pairs are all in the reported half."""
    words = corpus.words
    lemmas, pairs = words.lemma_names[words.table.lemma.values], words.dependencies
    named = [f"{one} -> {other}" for one, other in zip(lemmas[pairs.source], lemmas[pairs.target], strict=True)]
    reported = halves(corpus.n_sentences)[pairs.sentence]
    found = [name for name, is_reported in zip(named, reported.tolist(), strict=True) if is_reported]
    return next(name for name in found if links_of(corpus, name).pairs.values[0] == 0)


def test_without_a_pair_in_the_half_that_chooses_there_is_neither_a_best_head_nor_an_offset(
    bank_client: FlaskClient, bank_corpus: store.Corpus
) -> None:
    pattern = reported_alone(bank_corpus)
    page = above(bank_client, "/relations", f"?relation={pattern}")
    assert (
        "No pair in the half of the sentences that chooses, so there is neither a best head nor a best offset." in page
    )
    assert "No pair in the half that chooses: heads are in the order of layers." in page
    assert "'label': 'the first head'" in page
    assert f"Heads ranked by {pattern}" not in page
    assert "L0 H0 links" not in page.replace("Pairs that L0 H0 links", "")
    assert np.isnan(links_of(bank_corpus, pattern).offset_accuracy)


def test_the_file_of_a_relation_has_no_offset_where_no_pair_chooses_it(
    bank_client: FlaskClient, bank_corpus: store.Corpus, base: str
) -> None:
    known = str(int(links_of(bank_corpus, "det").offset))
    for relation, offset in ((reported_alone(bank_corpus), "nan"), ("det", known)):
        content = bank_client.get(f"{base}/relation.csv?relation={relation}&direction=forward").data
        assert set(pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)["offset"]) == {offset}


def test_the_best_head_of_a_relation_is_none_without_a_pair_that_chooses_it(bank_corpus: store.Corpus) -> None:
    relations = bank_corpus.relations.sel(relation=["det"])
    pairs = xr.where(np.arange(relations.sizes["half"]) == 0, 0, 1)
    best = best_heads(relations.assign(pairs=relations.pairs * xr.DataArray(pairs, dims="half")))
    shown = replace(read_accuracies(bank_corpus, LinkState(), "det"), best=(_best_head(best.isel(relation=0)),))
    cells = [each for each in components(best_of_relations(LinkState(), shown)) if isinstance(each, html.Td)]
    assert [cell.children for cell in cells if getattr(cell, "className", "") == "number"][:3] == ["", "", ""]
    assert "none can be chosen" in [getattr(cell, "children", None) for cell in cells]


def test_a_relation_is_chosen_by_what_it_is(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations")
    assert re.search(r"'label': 'det \(determiner\), \d+ pairs'", page)
    assert "'clearSearchOnFocus': True" in page


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_attended_word_of_a_hit_is_the_other_of_the_pair(direction: str, bank_corpus: store.Corpus) -> None:
    found = examples(bank_corpus, "det", direction, 1, 1)
    ends = {"forward": "target", "backward": "source", "received": "target"}
    assert all(pair.attended == getattr(pair, ends[direction]) for pair in found.hits)
    assert not any(pair.attended == getattr(pair, ends[direction]) for pair in found.misses)


def test_where_no_word_is_attended_to_the_words_around_the_pair_are_shown_and_only_the_pair_is_marked() -> None:
    words = tuple(f"w{place}" for place in range(40))
    pair = PairExample(0, words, source=30, target=32, attended=NO_OTHER, place=WordOfSentence(0, 0))
    row = _pair_row(LinkState(), pair, (0, 0))
    spans = [each.children[0] for each in components(row) if isinstance(each, html.Span)]
    assert [each if isinstance(each, str) else each.className for each in spans] == [
        "...",
        *words[24:30],
        "dependent",
        "w31",
        "governor",
        *words[33:39],
        "...",
    ]


def test_hits_and_misses_are_all_reported_pairs(bank_corpus: store.Corpus) -> None:
    found = examples(bank_corpus, "det", "forward", 0, 1)
    cell = bank_corpus.relations.sel(relation="det", direction="forward", layer=0, head=1).isel(half=1)
    assert (found.linked, found.pairs) == (int(cell.linked), int(cell.pairs))


def test_words_of_an_example_are_spelled_as_in_the_text(bank_corpus: store.Corpus) -> None:
    pair = (examples(bank_corpus, "det", "forward", 0, 0).hits + examples(bank_corpus, "det", "forward", 0, 0).misses)[
        0
    ]
    assert "".join(pair.words) == "".join(str(bank_corpus.sentences.text.values[pair.sentence]).split())


def test_an_unknown_relation_is_named_and_left_out(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", "?relation=nothing")
    assert "'nothing' is no relation of these words." in page
    assert "Showing all relations." in page
    assert "['h2', {}, 'All relations', ': dependent attends most to governor" in page


def test_the_file_of_relations_has_every_cell(bank_client: FlaskClient, base: str, bank_corpus: store.Corpus) -> None:
    table = pd.read_csv(io.BytesIO(bank_client.get(f"{base}/relations.csv").data), comment="#")
    cells = bank_corpus.relations.reported_accuracy
    assert len(table) == cells.size
    row = table.iloc[7]
    expected = cells.sel(relation=row.relation, direction=row.direction, layer=row.layer, head=row["head"])
    assert row.accuracy == pytest.approx(float(expected), rel=1e-5)


def test_the_file_of_one_relation_is_its_part(bank_client: FlaskClient, base: str, bank_corpus: store.Corpus) -> None:
    answer = bank_client.get(f"{base}/relation.csv?relation=det&direction=backward")
    table = pd.read_csv(io.BytesIO(answer.data), comment="#")
    np.testing.assert_allclose(
        table.accuracy, bank_corpus.relations.reported_accuracy.sel(relation="det", direction="backward").values.ravel()
    )


def test_a_pattern_is_counted_as_a_relation_of_the_store_is(bank_corpus: store.Corpus) -> None:
    stored, counted = (bank_corpus.relations.sel(relation="det"), links_of(bank_corpus, "DET -> NOUN"))
    for name in ("linked", "pairs", "reported_accuracy", "offset", "offset_accuracy"):
        np.testing.assert_array_equal(counted[name], stored[name], err_msg=name)
    np.testing.assert_allclose(counted.interval, stored.interval, atol=0.06)


def test_a_pattern_has_heads_and_pairs(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", "?relation=ADJ+->+NOUN")
    assert "['bdi', {}, 'ADJ -> NOUN'], '', ': first word attends most to second word" in page
    assert "Showing all relations" not in page


def test_a_file_of_a_relation_without_a_direction_is_of_the_one_that_a_link_means(
    bank_client: FlaskClient, base: str
) -> None:
    without, forward = (bank_client.get(f"{base}/relation.csv?relation=det{end}") for end in ("", "&direction=forward"))
    assert (without.status_code, without.data) == (200, forward.data)


@pytest.mark.parametrize("query", ["", "?relation=no&direction=forward", "?relation=det&direction=no"])
def test_a_file_of_an_unknown_relation_is_not_found(query: str, bank_client: FlaskClient, base: str) -> None:
    assert bank_client.get(f"{base}/relation.csv{query}").status_code == 404


def test_the_two_words_of_a_pattern_are_called_first_and_second(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", "?relation=VERB -> NOUN")
    legends = re.findall(r"\['mark', {'className': '(?:dependent|governor)'}, '([^']+ word)'\]", page)
    assert legends == ["first word", "second word"] * 2
    assert "{'value': 'received', 'label': 'first word gets most from second word'}" in page
    assert "The offset second word − first word, from −10 to +10 words" in page


def test_the_file_of_best_heads_has_every_relation(
    bank_client: FlaskClient, base: str, bank_corpus: store.Corpus
) -> None:
    table = pd.read_csv(io.BytesIO(bank_client.get(f"{base}/best-heads.csv").data), comment="#")
    assert table.relation.tolist() == [row.relation for row in best_of(bank_corpus)]


def test_a_gain_over_the_offset_is_clear_where_the_whole_interval_is_above_it() -> None:
    accuracy, low = np.array([[[0.5, 0.5, 0.2]]]), np.array([[[0.41, 0.39, 0.1]]])
    dims = ("relation", "layer", "head")
    links = xr.Dataset(
        {
            "reported_accuracy": (dims, accuracy),
            "interval": (("bound", *dims), np.stack([low, accuracy + 0.1])),
            "offset_accuracy": ("relation", [0.4]),
        }
    )
    np.testing.assert_allclose(clear_gains(links), [[[0.1, 0, 0]]])


def test_the_two_files_name_which_head_with_random_weights_they_are_of(bank_client: FlaskClient, base: str) -> None:
    names = [
        set(pd.read_csv(io.BytesIO(bank_client.get(f"{base}/{file}.csv").data), comment="#"))
        for file in ("relations", "best-heads")
    ]
    assert [{name for name in columns if "random" in name} for columns in names] == [
        {"same_head_random_accuracy"},
        {"best_random_head_accuracy"},
    ]


def test_a_store_without_words_says_how_to_get_them(client: FlaskClient) -> None:
    assert "Run ', ['code', {}, 'headscape ingest']" in above(client, "/relations")


@pytest.mark.parametrize(
    "bad", ["relation=%00", "relation=->", "example=0:0-999", "start=99999", "direction=up", "examples=all", "layer=99"]
)
def test_a_bad_link_has_one_notice_at_most(bad: str, bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", f"?{bad}")
    assert "Heads ranked by" in page
    assert len(re.findall(r"Ignored|Showing|; showing", page)) == (bad != "example=0:0-999")
