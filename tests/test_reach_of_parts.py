"""Reach of the tokens that filters keep: numbers against loops over these tokens, and the text of the page."""

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.statistics.figures import LabelLine, label_lines
from dashboard.statistics.parts import part_of
from dashboard.statistics.reach_data import Reach, compared_labels, counted_part, read_reach
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, open_corpus
from store.reach import ClassedTokens
from store.repository.errors import StoreError
from tests.client import above, csv_rows

#: Filters, in the form of a link, that leave out tokens of every sentence and some whole sentences.
WHERE = "sentence_length:8..40;position:1..6"
FEW = 3


@pytest.fixture(scope="module")
def kept(tiny_corpus: Corpus) -> np.ndarray:
    """The tokens that the filters keep, by a loop: (token,)."""
    chosen = np.zeros(tiny_corpus.n_tokens, bool)
    for index, row in enumerate(tiny_corpus.rows.tolist()):
        sentence = int(tiny_corpus.tokens.sentence_index[row])
        chosen[index] = (
            int(tiny_corpus.sentences.row_size[sentence]) >= 8 and 1 <= tiny_corpus.tokens.position[row] <= 6
        )
    assert 0 < chosen.sum() < len(chosen)
    return chosen


def kept_of(corpus: Corpus, kept: np.ndarray, sentences: np.ndarray) -> dict[int, list[tuple[str, float]]]:
    """Kept tokens with their reach after the last layer, by sentence; sentences without one are left out."""
    reach = corpus.token_reach.sel(target="sentence").values[-1].astype(float)
    found: dict[int, list[tuple[str, float]]] = {}
    for index, row in enumerate(corpus.rows.tolist()):
        sentence = int(corpus.tokens.sentence_index[row])
        if kept[index] and sentence in sentences:
            (piece,) = corpus.wordpieces(np.array([row]))
            found.setdefault(sentence, []).append((piece, reach[row]))
    return found


def means_of(of: dict[int, list[tuple[str, float]]]) -> dict[str, float]:
    """Mean over sentences of the mean over a wordpiece's kept tokens, for wordpieces in enough sentences."""
    each: dict[str, list[float]] = {}
    for tokens in of.values():
        for piece in {piece for piece, _ in tokens}:
            each.setdefault(piece, []).append(float(np.mean([value for own, value in tokens if own == piece])))
    return {piece: float(np.mean(values)) for piece, values in each.items() if len(values) >= FEW}


def share_of(corpus: Corpus, of: dict[int, list[tuple[str, float]]], piece: str) -> float:
    """Share of the vector that the kept tokens of a wordpiece make up, over all sentences with a kept token."""
    sums = {sentence: sum(value for own, value in tokens if own == piece) for sentence, tokens in of.items()}
    return float(np.mean([total / int(corpus.sentences.row_size[sentence]) for sentence, total in sums.items()]))


def test_classes_are_means_over_the_kept_tokens(tiny_corpus: Corpus, kept: np.ndarray) -> None:
    of = kept_of(tiny_corpus, kept, np.arange(tiny_corpus.n_sentences))
    found = tiny_corpus.reach_by("wordpiece", layer=1, chosen=kept, fewest=FEW).isel(layer=0)
    expected = means_of(of)
    assert set(found.category.values) == set(expected)
    np.testing.assert_allclose(found.reach, [expected[piece] for piece in found.category.values], rtol=1e-5)
    shares = [share_of(tiny_corpus, of, str(piece)) for piece in found.category.values]
    np.testing.assert_allclose(found.share, shares, rtol=1e-5)


def test_labels_are_compared_by_the_kept_tokens(tiny_corpus: Corpus, kept: np.ndarray) -> None:
    labels = tiny_corpus.sentences.label.values
    positive = labels[tiny_corpus.tokens.sentence_index.values[tiny_corpus.rows]] == 1
    found = tiny_corpus.reach_contrast(
        "wordpiece", "sentence", positive & kept, others=~positive & kept, layer=1, fewest=FEW
    ).isel(layer=0)
    for side, label in (("own", 1), ("rest", 0)):
        of = kept_of(tiny_corpus, kept, np.flatnonzero(labels == label))
        expected = [share_of(tiny_corpus, of, str(piece)) for piece in found.category.values]
        np.testing.assert_allclose(found[f"{side}_share"], expected, rtol=1e-5)


def test_a_choice_of_another_number_of_tokens_is_refused(tiny_corpus: Corpus) -> None:
    with pytest.raises(StoreError, match=r"`chosen` has shape \(3,\) .* Pass a bool for each of the 452 tokens\."):
        tiny_corpus.reach_by(chosen=np.ones(3, bool))


def test_a_typical_token_is_one_of_the_kept(tiny_corpus: Corpus) -> None:
    tokens = ClassedTokens(tiny_corpus, "position", "sentence", [1])
    positions = tiny_corpus.tokens.position.values[tiny_corpus.rows]
    for token in np.flatnonzero(positions == 2)[:5].tolist():
        assert tokens.typical("hidden", "2", np.arange(tiny_corpus.n_tokens) == token) == token


# -- on the page --------------------------------------------------------------------------------------


def shown(place: str, query: str, fewest: int = FEW) -> tuple[Corpus, Reach]:
    context = resolve(ServedStore(place), "statistics", query)
    return context.corpus, read_reach(context.corpus, context.state, fewest)


def test_the_figures_count_the_tokens_that_the_filters_keep(tiny_store: str, kept: np.ndarray) -> None:
    corpus, own = shown(tiny_store, f"?reachedby=position&where={WHERE}")
    expected = corpus.reach_by("position", layer=1, chosen=kept, fewest=FEW).isel(layer=0)
    assert set(own.largest.category.values) == {"1", "2", "3", "4", "5", "6"} == set(expected.category.values)
    of = own.largest.isel(layer=0).sortby("category")
    np.testing.assert_allclose(of.reach, expected.reach)
    np.testing.assert_allclose(of.reach_interval, expected.reach_interval)
    assert own.counted == f"{kept.sum()} of 452 tokens"


def test_labels_and_their_curves_count_the_tokens_that_the_filters_keep(tiny_store: str, kept: np.ndarray) -> None:
    corpus, own = shown(tiny_store, f"?reachedclass=film&where={WHERE}")
    positive = corpus.sentences.label.values[corpus.tokens.sentence_index.values[corpus.rows]] == 1
    expected = corpus.reach_contrast("wordpiece", "sentence", positive & kept, others=~positive & kept, fewest=FEW).sel(
        category="film"
    )
    assert own.chosen == "film"
    np.testing.assert_allclose(own.lines[0].values, expected.own_share)
    np.testing.assert_allclose(own.lines[1].interval, expected.rest_share_interval)


def test_an_example_of_what_attention_hides_is_a_token_that_the_filters_keep(tiny_store: str, kept: np.ndarray) -> None:
    corpus, own = shown(tiny_store, f"?reached=cls&reachedby=position&where={WHERE}")
    tokens = corpus.tokens
    there = {(int(tokens.sentence_index[row]), int(tokens.position[row])) for row in corpus.rows[kept]}
    assert own.hidden
    for each in own.hidden:
        fields = dict(part.split("=") for part in str(each.href).partition("?")[2].split("&"))
        assert (int(fields.get("sentence", 0)), int(fields["queries"])) in there


def test_filters_that_keep_few_sentences_say_what_to_do(client: FlaskClient, tiny_corpus: Corpus) -> None:
    few = int((tiny_corpus.sentences.row_size.values >= 14).sum())
    assert 0 < few < 20
    said = f"No class has tokens in 20 sentences: the filters keep {few} sentences. Remove a filter."
    assert said in above(client, "/statistics", "?where=sentence_length:14..")


def test_filters_that_keep_few_sentences_of_a_label_say_so_in_place_of_the_comparison(tiny_store: str) -> None:
    _, own = shown(tiny_store, "?where=sentence_length:14..", fewest=6)
    assert (own.contrast, own.lines, own.chosen) == (None, [], "")
    assert own.few == (
        "Labels are compared from 6 sentences each; the filters keep 5 sentences of positive and 5 of negative. Remove a filter."
    )


@pytest.mark.parametrize("label", ["positive", "negative"])
def test_a_filter_by_one_label_does_not_apply_where_labels_are_compared(
    tiny_store: str, kept: np.ndarray, label: str
) -> None:
    corpus, own = shown(tiny_store, f"?reachedclass=film&where={WHERE};label:{label}")
    of_token = corpus.sentences.label.values[corpus.tokens.sentence_index.values[corpus.rows]]
    is_own = of_token == corpus.label_names.index(label)
    expected = corpus.reach_contrast("wordpiece", "sentence", is_own & kept, others=~is_own & kept, fewest=FEW).sel(
        category="film"
    )
    assert own.labels[0] == label
    np.testing.assert_allclose(own.lines[0].values, expected.own_share)
    np.testing.assert_allclose(own.lines[1].values, expected.rest_share)
    assert (own.counted, own.contrast_counted) == (
        f"{(kept & is_own).sum()} of 452 tokens",
        f"{kept.sum()} of 452 tokens",
    )
    assert own.contrast_where == WHERE


def test_the_section_says_how_many_tokens_count_before_what_filters_do_not_change(
    client: FlaskClient, kept: np.ndarray
) -> None:
    page = above(client, "/statistics", f"?where={WHERE}")
    begin, end = page.index("Which tokens a vector is made of"), page.index("Filters do not apply below")
    assert f"{kept.sum()} of 452 tokens" in page[begin:end]
    assert page.index("What a token's vector is made of") > end


def test_tokens_of_sentences_without_reaches_do_not_count(tiny_corpus: Corpus) -> None:
    size = tiny_corpus.sentences.row_size.values[tiny_corpus.tokens.sentence_index.values[tiny_corpus.rows]]
    every = part_of(tiny_corpus, "position:1..6")
    part = counted_part(tiny_corpus, "position:1..6", longest=10)
    np.testing.assert_array_equal(part.rows, every.rows & (size <= 10))
    assert part.tokens == part.rows.sum() < every.tokens


# -- files --------------------------------------------------------------------------------------------


def test_the_file_of_reaches_is_of_the_kept_tokens(
    client: FlaskClient, base: str, tiny_corpus: Corpus, kept: np.ndarray
) -> None:
    answer = client.get(f"{base}/reach.csv?reachedby=position&where={WHERE}")
    rows, expected = csv_rows(answer.data), tiny_corpus.reach_by("position", layer=1, chosen=kept).isel(layer=0)
    assert [row["class"] for row in rows] == expected.category.values.tolist()
    np.testing.assert_allclose([float(row["share"]) for row in rows], expected.share, rtol=1e-5)
    assert "reach-part" in answer.headers["Content-Disposition"]


def test_the_file_of_labels_is_of_the_kept_tokens(
    client: FlaskClient, base: str, tiny_corpus: Corpus, kept: np.ndarray
) -> None:
    rows = csv_rows(client.get(f"{base}/reach-labels.csv?reachedby=position&labelled=positive&where={WHERE}").data)
    positive = tiny_corpus.sentences.label.values[tiny_corpus.tokens.sentence_index.values[tiny_corpus.rows]] == 1
    expected = tiny_corpus.reach_contrast(
        "position", "sentence", positive & kept, others=~positive & kept, layer=1
    ).isel(layer=0)
    assert [row["class"] for row in rows] == expected.category.values.tolist()
    np.testing.assert_allclose([float(row["share_difference"]) for row in rows], expected.share_difference, rtol=1e-4)


@pytest.mark.parametrize(("unlabelled", "others"), [(0, "negative"), (5, "all others")])
def test_unlabelled_sentences_are_not_called_by_the_other_label(tiny_store: str, unlabelled: int, others: str) -> None:
    corpus = open_corpus(tiny_store)
    codes = np.where(np.arange(corpus.n_sentences) < unlabelled, -1, corpus.sentences.label.values)
    corpus.sentences = corpus.sentences.assign(label=("sentence", codes))
    labels = compared_labels(corpus, LinkState(page="statistics", labelled="positive"))
    assert labels == ("positive", others)


def test_names_of_labels_are_shown_character_by_character() -> None:
    line = LabelLine("<3 stars", np.zeros(2), np.zeros((2, 2)), 0.0)
    traces = label_lines([line]).data
    assert [trace.name for trace in traces] == ["&lt;3 stars", "&lt;3 stars: share of the tokens"]
    assert [trace.hovertemplate.count("&lt;3 stars") for trace in traces] == [1, 1]
