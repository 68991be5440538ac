"""Sentences of a treebank, and the places of their words in the text."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.run.errors import IngestError, short
from ingest.text.annotation import Annotation, place_of, read_treebank
from store.schema.corpus import NO_GOVERNOR, ROOT
from tests.complaints import INSTRUCTION

#: More digits than Python reads as a number.
DIGITS = "9" * 5_000
NO_WORD, NOT_THERE = "with a governor that is no word", "whose words do not stand in the text"


def line(number: object, form: str, governor: object, relation: str = "dep", misc: str = "_") -> str:
    return f"{number}\t{form}\t{form.lower()}\tNOUN\tNN\t_\t{governor}\t{relation}\t_\t{misc}"


def read(*lines: str) -> list[tuple[str, Annotation]]:
    return list(read_treebank([f"{each}\n" for each in lines], "bank.conllu"))


def spelled(text: str, annotation: Annotation) -> list[str]:
    return [text[start:stop] for start, stop in zip(annotation.start, annotation.stop, strict=True)]


def test_a_text_without_words_is_not_that_of_the_next_sentence() -> None:
    found = read("# text = Foo bar.", "", line(1, "Yes", 0))
    assert [text for text, _ in found] == ["Yes"]


def test_words_are_found_in_the_text_of_the_sentence() -> None:
    lines = ["# text = The cat's here.", line(1, "The", 2), line(2, "cat", 4), line(3, "'s", 2), line(4, "here", 0)]
    [(text, annotation)] = read(*lines, line(5, ".", 4))
    assert spelled(text, annotation) == ["The", "cat", "'s", "here", "."]


def test_a_sentence_without_text_is_put_together_from_its_words() -> None:
    [(text, annotation)] = read(line(1, "So", 0, misc="SpaceAfter=No"), line(2, ",", 1), line(3, "yes", 1))
    assert text == "So, yes"
    assert spelled(text, annotation) == ["So", ",", "yes"]


def test_governors_count_from_0_and_a_root_has_none() -> None:
    [(_, annotation)] = read(line(1, "a", 2, "det"), line(2, "film", 0, "root"))
    assert annotation.governor == [1, ROOT]
    assert annotation.relation == ["det", "root"]


def test_an_underscore_is_no_lemma() -> None:
    [(_, annotation)] = read("1\tfilm\t_\tNOUN\tNN\t_\t0\troot\t_\t_")
    assert annotation.lemma == [""]


def test_words_of_a_multiword_token_divide_its_characters() -> None:
    [(text, annotation)] = read(
        "# text = I don't", line(1, "I", 2), "2-3\tdon't" + "\t_" * 8, line(2, "do", 0), line(3, "n't", 2)
    )
    assert spelled(text, annotation) == ["I", "do", "n't"]


def test_words_that_are_spelled_otherwise_than_their_token_each_have_all_of_it() -> None:
    [(text, annotation)] = read(
        "# text = du film", "1-2\tdu" + "\t_" * 8, line(1, "de", 3), line(2, "le", 3), line(3, "film", 0)
    )
    assert spelled(text, annotation) == ["du", "du", "film"]


def test_an_empty_node_is_no_word() -> None:
    [(text, annotation)] = read(line(1, "film", 0), "1.1\twas" + "\t_" * 8, line(2, "good", 1))
    assert text == "film good"
    assert len(annotation) == 2


def test_an_empty_line_ends_a_sentence() -> None:
    assert [text for text, _ in read(line(1, "one", 0), "", "", line(1, "two", 0))] == ["one", "two"]


def test_comments_alone_are_no_sentence() -> None:
    assert read("# newdoc", "", line(1, "one", 0))[0][0] == "one"


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("1\tfilm\t0", r"^Line 2 of bank\.conllu has 3 columns between tabs, not 10\. Save the file as CoNLL-U\.$"),
        (line(3, "film", 0), r"^Line 2 of bank\.conllu numbers a word '3', not 2\. Number words from 1 on\.$"),
        (line("x", "film", 0), r"^Line 2 of bank\.conllu numbers a word 'x', not 2\. Number words from 1 on\.$"),
        (line(f"2-{DIGITS}", "film", 0), r"^Line 2 of bank\.conllu numbers a word '2-9{20,}\.\.\.9{20,}', not 2\. "),
    ],
)
def test_a_line_that_is_not_of_the_format_is_named(broken: str, complaint: str) -> None:
    with pytest.raises(IngestError, match=complaint):
        read(line(1, "a", 0), broken)


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ([line(1, "a", 0), line(2, "b", 0)], "without one root has 2 roots, not one (words 1 and 2)"),
        ([line(1, "a", 1)], "without one root has 0 roots, not one"),
        ([line(1, "a", 0), line(2, "b", 3), line(3, "c", 2)], "with a cycle has a cycle of governors at word 2"),
        ([line(1, "a", 0), line(2, "b", 9)], f"{NO_WORD} has the governor '9' of word 2, but its words are 1 to 2"),
        ([line(1, "a", "x")], f"{NO_WORD} has the governor 'x' of word 1, but its words are 1 to 1"),
        ([line(1, "a", DIGITS)], f"{NO_WORD} has the governor {short(DIGITS)!r} of word 1, but its words are 1 to 1"),
        (["# text = other", line(1, "a", 0)], f"{NOT_THERE} has the word 'a', which does not stand next in its text"),
        ([line(1, "_", 0), line(2, "_", 1)], "whose words are withheld has _ for words"),
        ([line(1, "\u00a0", 0)], "without visible words has only white space for its 1 word"),
        ([line(1, "", 0), line(2, "", 1)], "without visible words has only white space for its 2 words"),
    ],
)
def test_a_sentence_that_cannot_be_used_is_left_out_with_its_cause(
    sentence: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [text for text, _ in read(*sentence, "", line(1, "next", 0))] == ["next"]
    cause, has, detail = reason.partition(" has ")
    said = f"1 sentence of bank.conllu left out: 1 {cause} (the sentence at line 1{has}{detail}). Mend the file to have all.\n"
    assert capsys.readouterr().out == said


def test_sentences_that_are_left_out_are_counted_by_cause(capsys: pytest.CaptureFixture[str]) -> None:
    rootless, withheld = [line(1, "a", 1), ""], [line(1, "_", 0), ""]
    assert len(read(*rootless * 2, *withheld * 3, line(1, "next", 0))) == 1
    assert capsys.readouterr().out == (
        "5 sentences of bank.conllu left out: 2 without one root (the sentence at line 1 has 0 roots, not one); "
        "3 whose words are withheld (the sentence at line 5 has _ for words). Mend the file to have all.\n"
    )


@pytest.mark.parametrize("word", ["_", "[WORD]"])
def test_a_treebank_whose_words_are_withheld_is_refused_with_a_count(word: str) -> None:
    with pytest.raises(IngestError) as refused:
        read(*[line(1, word, 0), line(2, word, 1), ""] * 6)
    assert str(refused.value).startswith(
        "6 sentences of bank.conllu left out: 6 whose words are withheld (the sentence "
    )
    assert INSTRUCTION.search(str(refused.value))


def test_an_underscore_among_words_is_a_word() -> None:
    assert read(line(1, "_", 0), line(2, "end", 1))[0][0] == "_ end"


def test_a_rule_of_underscores_is_a_word() -> None:
    """English Web Treebank has such lines between letters."""
    assert [text for text, _ in read("# text = ____", line(1, "____", 0))] == ["____"]


# -- words with another spelling in the text ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "forms", "parts"),
    [
        ("caf\u00e9 open", ["cafe\u0301", "open"], ["caf\u00e9", "open"]),
        ("cafe\u0301 open", ["caf\u00e9", "open"], ["cafe\u0301", "open"]),
        ("Vi\u1ec7t", ["Vi\u00ea\u0323t"], ["Vi\u1ec7t"]),
        ("cooperate well", ["co\u200boperate", "well"], ["cooperate", "well"]),
        ("co\u200boperate well", ["cooperate", "well"], ["co\u200boperate", "well"]),
        ("good\u200b films here", ["good", "films", "here"], ["good", "films", "here"]),
        ("go\u00adod films", ["good", "films"], ["go\u00adod", "films"]),
        ("Word end", ["\ufeffWord", "end"], ["Word", "end"]),
        ("\u00ad good films", ["\u00ad", "good", "films"], ["\u00ad", "good", "films"]),
        ("see (old) films.", ["see", "-LRB-", "old", "-RRB-", "films", "/."], ["see", "(", "old", ")", "films", "."]),
        ("a -LRB- b", ["a", "-LRB-", "b"], ["a", "-LRB-", "b"]),
    ],
)
def test_a_word_is_found_where_the_text_spells_it_otherwise(text: str, forms: list[str], parts: list[str]) -> None:
    words = (line(number, form, number - 1) for number, form in enumerate(forms, 1))
    [(read_text, annotation)] = read(f"# text = {text}", *words)
    assert (read_text, spelled(read_text, annotation)) == (text, parts)


def test_escaped_brackets_of_a_sentence_without_text_are_brackets() -> None:
    [(text, annotation)] = read(line(1, "-LRB-", 2), line(2, "either\\/or", 0), line(3, "-rrb-", 2), line(4, "/?", 2))
    assert text == "( either/or ) ?"
    assert spelled(text, annotation) == ["(", "either/or", ")", "?"]


@given(st.text("ae\u0301\u0323\u00e9\u1ec7\u200b\u00ad ", max_size=8))
def test_a_text_stands_in_its_own_decomposition(text: str) -> None:
    word = "".join(text.split())
    other = unicodedata.normalize("NFD", word)
    assert (place_of(word, other, 0) is None) == (not word.strip("\u200b\u00ad") and word != other)


def test_what_depends_on_a_word_that_is_left_out_has_no_known_governor() -> None:
    [(_, annotation)] = read(line(1, "a", 2), line(2, "film", 0), line(3, "now", 2), line(4, "and", 3))
    kept = annotation.only([0, 2, 3])
    assert kept.governor == [NO_GOVERNOR, NO_GOVERNOR, 1]
    assert kept.lemma == ["a", "now", "and"]


def test_an_annotation_survives_json() -> None:
    [(_, annotation)] = read(line(1, "a", 2), line(2, "film", 0))
    assert Annotation.from_json(annotation.to_json()) == annotation


@given(st.lists(st.text("ab.'", min_size=1, max_size=4), min_size=1, max_size=8), st.data())
def test_every_word_of_a_text_made_from_words_is_spelled_there(forms: list[str], data: st.DataObject) -> None:
    spaces = [data.draw(st.sampled_from(["_", "SpaceAfter=No"])) for _ in forms]
    lines = [
        line(number, *pair)
        for number, pair in enumerate(((form, max(0, place)) for place, form in enumerate(forms)), 1)
    ]
    lines = [f"{each.removesuffix('_')}{space}" for each, space in zip(lines, spaces, strict=True)]
    [(text, annotation)] = read(*lines)
    assert spelled(text, annotation) == forms


def test_a_file_is_read_by_its_ending(tmp_path: Path) -> None:
    from ingest.text.reviews import find_data, read_reviews

    path = tmp_path / "bank.conll10"
    path.write_text(line(1, "film", 0) + "\n", "utf-8")
    reviews = read_reviews(find_data(str(path)), text="other", label="label")
    assert reviews[0].text == "film"
    assert reviews.annotation(0).relation == ["dep"]
