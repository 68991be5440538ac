"""A reader's own hypothesis on page Relations: the pairs that its fields name, against plain loops; its page, file and link."""

import io
from collections.abc import Iterator
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from flask import request
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.notes.target import ViewTarget
from dashboard.relations.example import _kind, as_hypothesis
from dashboard.relations.hypothesis import RoomToTest, matching, named_keys, read_hypothesis
from dashboard.relations.hypothesis_table import read_tested
from dashboard.relations.linked_sentences import CommonKind, WordPair, common_kind
from dashboard.web.admission import DISCONNECTED
from dashboard.web.context import resolve
from dashboard.web.errors import READER_LEFT, NotYet, Refusal
from dashboard.web.http import ReadFields, data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, open_corpus
from store.hypothesis import HypothesisSentence
from store.rules import RuleText
from tests.client import above

SENTENCES = 12
Pairs = set[tuple[int, int, int]]


@pytest.fixture(scope="module")
def tiny(tiny_store: str) -> Corpus:
    return open_corpus(tiny_store)


def named(corpus: Corpus, **fields: str) -> Pairs:
    """Sentence, query and key of every pair of ordinary tokens that the hypothesis of a link names."""
    written = read_hypothesis(corpus, LinkState(page="relations").with_(**fields))
    assert written is not None
    names, text = named_keys(corpus, written), RuleText(corpus, corpus.n_sentences)
    pairs = set()
    for number in range(SENTENCES):
        tokens = text.sentence(number)
        keys = np.asarray(names(HypothesisSentence(number, "", (), tokens)))
        keys = keys & tokens.is_word & tokens.is_word[:, None]
        pairs |= {(number, query, key) for query, key in np.argwhere(keys).tolist()}
    return pairs


def words_of(corpus: Corpus) -> Iterator[tuple[int, list[dict[str, object]]]]:
    """Number and annotated words of each sentence, by plain Python; a token belongs to the first word that has it."""
    table = corpus.words.table
    for number in range(SENTENCES):
        rows, taken, words = corpus.words.rows(number), set(), []
        for place, row in enumerate(range(rows.start, rows.stop)):
            tokens = set(range(int(table.token_start[row]), int(table.token_stop[row]))) - taken
            taken |= tokens
            names = {
                name: [*corpus.words.names(name), ""][int(table[name][row])] for name in ("part_of_speech", "relation")
            }
            text = corpus.words.texts(slice(row, row + 1))[0].lower()
            words.append(
                {"place": place, "tokens": tokens, "text": text, "governor": int(table.governor[row]), **names}
            )
        yield number, words


def looped(corpus: Corpus, holds) -> Pairs:  # type: ignore[no-untyped-def]  # of two words
    return {
        (number, query, key)
        for number, words in words_of(corpus)
        for first in words
        for last in words
        if holds(first, last)
        for query in first["tokens"]
        for key in last["tokens"]
    }


def first_word(corpus: Corpus) -> str:
    return corpus.words.texts(slice(0, 1))[0]


def test_a_text_and_an_offset_name_the_words_that_a_loop_finds(bank_corpus: Corpus) -> None:
    text = first_word(bank_corpus)
    expected = looped(bank_corpus, lambda a, b: a["text"] == text.lower() and b["place"] - a["place"] == 1)
    assert named(bank_corpus, hquery=text.upper(), hoffset="+1") == expected != set()


def test_parts_of_speech_and_a_dependency_name_the_words_that_a_loop_finds(bank_corpus: Corpus) -> None:
    def holds(query: dict[str, object], key: dict[str, object]) -> bool:
        return query["part_of_speech"] == "DET" and query["governor"] == key["place"] and query["relation"] == "det"

    assert named(bank_corpus, hquery="DET", hjoined="depends", hlabel="det") == looped(bank_corpus, holds) != set()


def test_governors_attend_to_their_dependents(bank_corpus: Corpus) -> None:
    expected = looped(bank_corpus, lambda a, b: b["governor"] == a["place"])
    assert named(bank_corpus, hjoined="governs") == expected != set()


def test_the_same_text_elsewhere_is_found_whatever_its_case(bank_corpus: Corpus) -> None:
    expected = looped(bank_corpus, lambda a, b: a["text"] == b["text"] and a["place"] != b["place"])
    assert named(bank_corpus, hjoined="same") == expected


def test_an_expression_and_a_range_of_offsets_name_wordpieces(tiny: Corpus) -> None:
    expected = {
        (number, query, key)
        for number in range(SENTENCES)
        for pieces in [tiny.wordpieces(tiny.sentence_rows(number))]
        for query, piece in enumerate(pieces[1:-1], start=1)
        for key in range(1, len(pieces) - 1)
        if "e" in piece and -3 <= key - query <= -1
    }
    assert named(tiny, hquery="/E/", hoffset="-1 to -3", hunit="wordpiece") == expected != set()


@pytest.mark.parametrize("fields", [{"hquery": "[CLS]"}, {"hkey": "[sep]", "hquery": "*", "hunit": "wordpiece"}])
def test_a_hypothesis_on_a_special_token_is_refused_with_the_reason(fields: dict[str, str], tiny: Corpus) -> None:
    with pytest.raises(Refusal, match=r"is a special token, which takes no part .* Write a word, or \* for any word\."):
        read_hypothesis(tiny, LinkState(page="relations").with_(**fields))


def test_a_wordpiece_is_found_by_its_text_and_as_the_vocabulary_writes_it(tiny: Corpus) -> None:
    pieces = {number: tiny.wordpieces(tiny.sentence_rows(number)) for number in range(SENTENCES)}
    marked = next(piece for each in pieces.values() for piece in each if piece.startswith("##"))

    def queries(written: str) -> Pairs:
        return {(number, query, query) for number, query, _ in named(tiny, hquery=written, hunit="wordpiece")}

    every = {
        (number, place, place) for number, each in pieces.items() for place, piece in enumerate(each) if piece == marked
    }
    text = {
        (number, place, place)
        for number, each in pieces.items()
        for place, piece in enumerate(each)
        if piece.removeprefix("##") == marked[2:]
    }
    assert queries(marked) == every != set()
    assert queries(marked[2:].upper()) == text


def test_without_annotation_words_are_those_of_the_tokenizer(tiny: Corpus) -> None:
    tokens = RuleText(tiny, tiny.n_sentences).sentence(0)
    ends = [np.flatnonzero(tokens.word_index == word) for word in (0, 1)]
    pairs = named(tiny, hoffset="1")
    assert {(0, int(query), int(key)) for query in ends[0] for key in ends[1]} <= pairs


def test_the_other_wordpieces_of_a_word_are_those_with_its_number(tiny: Corpus) -> None:
    text, expected = RuleText(tiny, tiny.n_sentences), set()
    for number in range(SENTENCES):
        word = text.sentence(number).word_index.tolist()
        every = range(len(word))
        expected |= {(number, a, b) for a in every for b in every if a != b and word[a] == word[b] >= 0}
    assert named(tiny, hjoined="rest") == expected != set()


@pytest.mark.parametrize("expression", ["(a+)+$", "(.*)*(.*)*(.*)*x", "(((a*)*)*)*b"])
def test_an_expression_that_backtracks_without_end_elsewhere_is_answered(expression: str) -> None:
    assert not matching(["a" * 5_000 + "c"], expression).any()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"hquery": "/([/"}, "is no regular expression here (missing ]). Write another"),
        ({"hquery": "/(a)\\1/"}, "look-around and back references are not known"),
        ({"hquery": "/(x{999}){999}/"}, "is no regular expression here"),
        ({"hoffset": "near"}, "“near” is no offset. Write one such as +1"),
        ({"hjoined": "depends", "hlabel": "none"}, "the label “none”. Choose another"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_to_do(
    bank_client: FlaskClient, fields: dict[str, str], said: str
) -> None:
    page = above(bank_client, "/relations", f"?{urlencode(fields)}")
    assert said in page.replace("\\\\", "\\")
    assert "Governors found" in page or "All relations by all heads" in page


def test_a_corpus_without_words_has_the_section_and_says_what_grammar_needs(client: FlaskClient) -> None:
    assert "Every head is tested on what you write" in above(client, "/relations")
    assert "Words: not annotated." in above(client, "/relations", "?hquery=VERB")
    assert "the key depends on the query" not in above(client, "/relations")


def test_the_page_says_the_hypothesis_and_what_was_counted(bank_client: FlaskClient, bank_corpus: Corpus) -> None:
    page = above(bank_client, "/relations", "?hquery=DET&hoffset=1")
    found = bank_corpus.hypothesis(
        named_keys(bank_corpus, read_hypothesis(bank_corpus, LinkState(page="relations", hquery="DET", hoffset="1")))  # type: ignore[arg-type]
    )
    assert "A word of part of speech DET attends to a word, at offset +1 in words." in page
    assert f"{found.named_queries:,} queries with such a key, in {found.named_sentences:,} of" in page


def test_heads_come_in_the_order_of_the_chosen_number(bank_client: FlaskClient, bank_corpus: Corpus) -> None:
    page = above(bank_client, "/relations", "?hquery=DET&hoffset=1&hsort=recall")
    written = read_hypothesis(bank_corpus, LinkState(page="relations", hquery="DET", hoffset="1"))
    recall = bank_corpus.hypothesis(named_keys(bank_corpus, written)).recall.values  # type: ignore[arg-type]
    best = np.unravel_index(int(recall.argmax()), recall.shape)
    table = page[page.index("Heads by how well the hypothesis") :]
    assert table.index(f"'L{best[0]} H{best[1]}'") == min(
        table.index(f"'L{layer} H{head}'") for layer, head in np.ndindex(*recall.shape)
    )


def test_a_word_that_is_not_there_has_no_heads(bank_client: FlaskClient) -> None:
    assert "has such a key. Write another word" in above(bank_client, "/relations", "?hquery=zzzz")


def test_the_file_has_every_head_with_intervals(bank_client: FlaskClient, bank_corpus: Corpus) -> None:
    url = f"{data_link(bank_corpus)}/hypothesis.csv?hquery=DET&hoffset=%2B1"
    table = pd.read_csv(io.BytesIO(bank_client.get(url).data))
    assert len(table) == bank_corpus.layers * bank_corpus.heads
    assert (table.precision_low <= table.precision).all()
    assert table.hypothesis[0].startswith("A word of part of speech DET")


@pytest.mark.parametrize(
    ("query", "told"), [("?hquery=DET", True), ("?hquery=DET&hoffset=1", False), ("?hkey=DET", False)]
)
def test_a_hypothesis_without_a_key_is_told_to_say_little(bank_client: FlaskClient, query: str, told: bool) -> None:
    page = above(bank_client, "/relations", query)
    assert ("Every word is a key, so heads hardly differ. Write a key or an offset, or choose" in page) is told


@pytest.mark.parametrize(("query", "status"), [("", 404), ("?hquery=/(/", 400), ("?hquery=" + "x" * 300, 200)])
def test_a_file_of_no_hypothesis_is_refused(
    bank_client: FlaskClient, bank_corpus: Corpus, query: str, status: int
) -> None:
    assert bank_client.get(f"{data_link(bank_corpus)}/hypothesis.csv{query}").status_code == status


def test_a_file_with_a_field_that_nobody_reads_is_no_answer_of_its_own(
    bank_client: FlaskClient, bank_corpus: Corpus
) -> None:
    url = f"{data_link(bank_corpus)}/hypothesis.csv?hquery=DET"
    spellings = []
    for address in (url, f"{url}&junk=1"):
        with bank_client:
            assert bank_client.get(address).status_code == 200
            assert isinstance(request.args, ReadFields)
            spellings.append(request.args.in_one_spelling)
    assert spellings == [True, False]


def test_a_note_on_the_page_keeps_the_hypothesis(bank_store: str) -> None:
    context = resolve(ServedStore(bank_store), "/relations", "?hquery=%2Fing%24%2F&hoffset=-3+to+-1&hunit=wordpiece")
    href = ViewTarget.of(context.corpus, context.state).href(context.corpus)
    assert href is not None
    again = resolve(ServedStore(bank_store), "/relations", href.partition("?")[2])
    assert read_hypothesis(again.corpus, again.state) == read_hypothesis(context.corpus, context.state)
    assert again.notices == ()


def test_marked_pairs_become_a_hypothesis() -> None:
    kind = CommonKind("ADJ", "*", joined=True, label="amod", up=True)
    fields = {name: value for name, value in as_hypothesis(kind).items() if value}
    assert fields == {"hquery": "ADJ", "hjoined": "depends", "hlabel": "amod"}


def test_pairs_whose_labels_differ_are_tested_with_any_label() -> None:
    kind = CommonKind("*", "*", joined=True, label="", up=False)
    assert {name: value for name, value in as_hypothesis(kind).items() if value} == {"hjoined": "governs"}


def test_pairs_from_both_sides_of_a_dependency_say_why_no_hypothesis_tests_them() -> None:
    said = str(_kind(LinkState(page="relations"), CommonKind("NOUN", "*", joined=True, up=None)))
    assert "mark one kind to test it" in said
    assert "Test as a hypothesis" not in said


def test_pairs_have_a_side_in_common_or_not(bank_corpus: Corpus) -> None:
    words = bank_corpus.words
    governor, start = words.table.governor.values, words.start[words.table.sentence.values]
    rows = np.flatnonzero(governor >= 0)
    pairs = [WordPair(int(row), int(start[row] + governor[row])) for row in rows[:40]]
    joined = [pair for pair in pairs if common_kind(words, [pair]).joined]
    assert common_kind(words, joined[:2]).up is True
    assert common_kind(words, [joined[0], WordPair(*joined[1][::-1])]).up is None


def test_one_reader_tests_at_a_time_and_others_find_what_was_tested(bank_store: str) -> None:
    context = resolve(ServedStore(bank_store), "/relations", "?hquery=DET&hoffset=%2B1")
    again = resolve(context.served_store, "/relations", "?hquery=ADJ")
    with context.served_store.service(RoomToTest).entered(), pytest.raises(NotYet):
        read_tested(context.served_store, context.corpus, context.state)
    found = read_tested(context.served_store, context.corpus, context.state)
    with context.served_store.service(RoomToTest).entered():
        assert read_tested(context.served_store, context.corpus, context.state) == found
        with pytest.raises(NotYet):
            read_tested(again.served_store, again.corpus, again.state)


def test_the_file_is_not_made_for_a_reader_who_left(bank_store: str) -> None:
    server = create_app(ServedStore(bank_store)).server
    url = f"{data_link(open_corpus(bank_store))}/hypothesis.csv?hquery=NOUN"
    answer = server.test_client().get(url, environ_overrides={DISCONNECTED: lambda: True})
    assert answer.status_code == READER_LEFT


def test_an_expression_that_is_too_large_is_refused() -> None:
    with pytest.raises(Refusal, match="Write another"):
        matching(["a"], r"\pL{0,999}" * 7)
