"""Passages and mentions of data with coreference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.run.errors import IngestError
from ingest.text.coreference import GAP_COLUMNS, PASSAGE_WORDS, MentionSpans, read_coreference, read_gap

GAP_ROW = ("x-1", "Ann saw Eva when she left.", "she", "17", "Ann", "0", "TRUE", "Eva", "8", "FALSE", "url")


def document(*words: tuple[str, str]) -> list[str]:
    """Lines of one document in three columns."""
    return [
        "# begin document one",
        *(f"{place}\t{word}\t{bracket}" for place, (word, bracket) in enumerate(words)),
        "# end document",
    ]


def spelled(text: str, mentions: MentionSpans) -> list[tuple[str, int]]:
    return [
        (text[start:stop], entity)
        for start, stop, entity in zip(mentions.start, mentions.stop, mentions.entity, strict=True)
    ]


def read(*lines: str) -> list[tuple[str, MentionSpans]]:
    return list(read_coreference([f"{line}\n" for line in lines], "data.conll"))


def gap(*rows: tuple[str, ...]) -> list[tuple[str, MentionSpans]]:
    lines = ["\t".join((*GAP_COLUMNS, "URL")), *("\t".join(row) for row in rows)]
    return list(read_gap([f"{line}\n" for line in lines], "gap.tsv"))


def test_mentions_with_one_number_are_of_one_entity() -> None:
    [(text, mentions)] = read(*document(("Ann", "(1)"), ("saw", "_"), ("her", "(1(2"), ("dog", "1)2)"), ("it", "(2)")))
    assert text == "Ann saw her dog it"
    assert spelled(text, mentions) == [("Ann", 1), ("her dog", 1), ("her dog", 2), ("it", 2)]


def test_bars_may_stand_between_brackets() -> None:
    [(text, mentions)] = read(*document(("her", "(1)|(2"), ("dog", "2)"), ("she", "(1)"), ("it", "(2)")))
    assert ("her dog", 2) in spelled(text, mentions)


def test_escaped_punctuation_is_what_it_stands_for() -> None:
    words = ("He", "(1)"), ("saw", "_"), ("-LRB-", "_"), ("his", "(1)"), ("-RRB-", "_"), ("/.", "_"), ("/?", "_")
    [(text, mentions)] = read(*document(*words))
    assert text == "He saw ( his ) . ?"
    assert spelled(text, mentions) == [("He", 1), ("his", 1)]


def test_escaped_punctuation_ends_a_sentence() -> None:
    sentence = [*[("good", "_")] * 39, ("/.", "_")]
    assert [len(text.split()) for text, _ in read(*document(*sentence * 3))] == [80, 40]


def test_documents_whose_words_are_withheld_are_refused_with_a_count() -> None:
    withheld = document(*[("[WORD]", "_")] * 9)
    with pytest.raises(IngestError) as refused:
        read(*withheld, *withheld)
    assert str(refused.value) == (
        "2 documents of data.conll left out: 2 whose words are withheld (document 1 has [WORD] for its 9 words). "
        "Give the files with their words: the README of the corpus says how to add them."
    )


def test_a_document_whose_words_are_withheld_is_left_out_of_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    texts = read(*document(("[WORD]", "_")), *document(("Ann", "_")))
    assert [text for text, _ in texts] == ["Ann"]
    assert capsys.readouterr().out.startswith(
        "1 document of data.conll left out: 1 whose words are withheld (document 1"
    )


def test_a_table_of_gap_in_which_no_row_can_be_used_is_refused() -> None:
    with pytest.raises(IngestError, match=r"^1 row of gap\.tsv left out: 1 of another length .* Give the table of GAP"):
        gap(GAP_ROW[:5])


def test_an_entity_with_one_mention_is_left_out() -> None:
    [(_, mentions)] = read(*document(("Ann", "(1)"), ("saw", "_"), ("Eva", "(2)"), ("she", "(1)")))
    assert list(mentions.entity) == [1, 1]


def test_the_long_form_has_the_word_in_its_fourth_column() -> None:
    row = "bc/x 0 {} {} NN * - - - - * {}"
    lines = [
        "#begin document (bc/x); part 000",
        row.format(0, "Ann", "(1)"),
        row.format(1, "she", "(1)"),
        "#end document",
    ]
    assert spelled(*read(*lines)[0]) == [("Ann", 1), ("she", 1)]


def test_a_passage_ends_with_the_last_sentence_that_fits() -> None:
    sentence = [*[("good", "_")] * 39, (".", "_")]
    texts = [text for text, _ in read(*document(*sentence * 3))]
    assert [len(text.split()) for text in texts] == [80, 40]


def test_an_empty_line_ends_a_sentence() -> None:
    lines = document(*[("good", "_")] * 100)
    lines.insert(51, "")
    assert [len(text.split()) for text, _ in read(*lines)] == [50, 50]


def test_a_long_sentence_is_cut_into_passages() -> None:
    texts = [text for text, _ in read(*document(*[("good", "_")] * 300))]
    assert max(len(text.split()) for text in texts) == PASSAGE_WORDS


def test_a_mention_across_passages_is_left_out() -> None:
    words = [("good", "_")] * 100
    words[85], words[95], words[0], words[99] = ("a", "(1"), ("b", "1)"), ("c", "(1)"), ("d", "(1)")
    assert [spelled(text, mentions) for text, mentions in read(*document(*words))] == [[("c", 1)], [("d", 1)]]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.integers(1, 3)), max_size=8))
def test_every_mention_of_a_passage_stands_in_its_text(spans: list[tuple[int, int, int]]) -> None:
    words = [f"w{place}" for place in range(40)]
    brackets = [""] * 40
    for start, length, entity in spans:
        opened, closed = (f"({entity})", "") if not length else (f"({entity}", f"{entity})")
        brackets[start] += opened
        brackets[start + length] = closed + brackets[start + length] if length else brackets[start]
    lines = document(*((word, bracket or "_") for word, bracket in zip(words, brackets, strict=True)))
    try:
        [(text, mentions)] = read(*lines)
    except IngestError:  # crossing brackets of one entity
        return
    assert all(piece.split()[0] in words and piece == piece.strip() for piece, _ in spelled(text, mentions))


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (["0\tAnn\t(1)"], "stands before `#begin document`"),
        (["# begin document x", "0\tAnn"], "has 2 columns, not 3"),
        (["# begin document x", "0\tAnn\t1)"], "closes a mention of the entity 1 that is not open"),
        (["# begin document x", "0\tAnn\t(1", "# end document"], "leaves a mention of the entity 1 open"),
        (["# begin document x", "0\tAnn\t(a)"], "has '(a)' for its mentions"),
        (["# begin document x", f"0\tAnn\t({'9' * 5_000})"], "99)' for its mentions"),
    ],
)
def test_a_broken_line_is_named_with_what_to_do(lines: list[str], complaint: str) -> None:
    with pytest.raises(IngestError) as error:
        read(*lines)
    assert complaint in str(error.value)
    assert str(error.value).endswith(".")


def test_a_row_of_gap_is_a_pronoun_and_two_names() -> None:
    [(text, mentions)] = gap(GAP_ROW)
    assert spelled(text, mentions) == [("she", 0), ("Ann", 0), ("Eva", 2)]


def test_rows_of_gap_with_one_text_are_one_passage() -> None:
    [(text, mentions)] = gap(GAP_ROW, (*GAP_ROW[:6], "FALSE", *GAP_ROW[7:9], "TRUE", "url"))
    assert [entity for _, entity in spelled(text, mentions)] == [0, 0, 2, 3, 4, 3]


@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        (2, "it", "has the pronoun 'it'"),
        (3, "x", "has no Pronoun 'she' at character x"),
        (5, "1", "has no A 'Ann' at character 1"),
        (5, "9" * 5_000, "has no A 'Ann' at character 99"),
        (6, "maybe", "has 'maybe' as A-coref"),
    ],
)
def test_a_row_of_gap_that_does_not_fit_is_left_out(
    column: int, value: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = list(GAP_ROW)
    row[column] = value
    assert len(gap(GAP_ROW, tuple(row))) == 1
    assert complaint in capsys.readouterr().out


def test_a_row_of_gap_with_too_few_columns_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    gap(GAP_ROW, GAP_ROW[:5])
    assert "row 3 has 5 columns, not 11" in capsys.readouterr().out


def test_another_table_is_refused() -> None:
    with pytest.raises(IngestError, match="does not have the columns of GAP"):
        list(read_gap(["text\tlabel\n"], "reviews.tsv"))
