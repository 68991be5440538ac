"""The rule that splits a text into sentences: for each script, and for a whole data set."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import store
from ingest.run.errors import IngestError
from ingest.run.settings import Settings
from ingest.text.sentences import (
    BY_SCRIPT,
    LINES,
    NUPUNKT,
    TEXTS,
    has_other_script,
    sentence_hash,
    split_text,
    splitter_of,
)
from store.phrases import cut_sentences
from tests.stores import rewritten

Ingest = Callable[..., str]

#: Sentences of a language, and the text between them.
CHINESE = (["这家酒店很干净。", "早餐一般，价格太贵！", "下次还会来吗？", "他说：“我们明天再来。”"], "")  # noqa: RUF001
JAPANESE = (["この映画は良かった。", "もう一度見ますか？", "「はい、そうです。」", "長すぎます。"], "")  # noqa: RUF001
HINDI = (["यह फ़िल्म अच्छी थी।", "संगीत भी अच्छा था!", "क्या आप इसे देखेंगे?", "कीमत 3.50 रुपये थी।"], " ")
ARABIC = (["كان الفيلم جيدًا جدًا.", "هل ستشاهده مرة أخرى؟", "كلف الفيلم 3.5 ملايين."], " ")
URDU = (["یہ فلم بہت اچھی تھی۔", "کیا آپ اسے دیکھیں گے؟", "نہیں، یہ لمبی ہے۔"], " ")  # noqa: RUF001
GREEK = (["Η ταινία ήταν καλή.", "Θα την ξαναδείτε;", "Ο κ. Παπαδόπουλος έπαιξε καλά."], " ")  # noqa: RUF001
ETHIOPIC = (["ፊልሙ በጣም ጥሩ ነበር።", "እንደገና ታየዋለህ፧", "አይ፣ በጣም ረጅም ነው።"], " ")
ARMENIAN = (["Ֆիլմը շատ լավն էր։", "Այն երկար էր։"], " ")  # noqa: RUF001
KHMER = (["ភាពយន្តនេះល្អណាស់។", "ខ្ញុំចូលចិត្តវា។"], " ")


@pytest.mark.parametrize(
    ("sentences", "between"), [CHINESE, JAPANESE, HINDI, ARABIC, URDU, GREEK, ETHIOPIC, ARMENIAN, KHMER]
)
def test_a_text_is_split_where_sentences_of_its_script_end(sentences: list[str], between: str) -> None:
    assert list(split_text(between.join(sentences), BY_SCRIPT)) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "I saw it. it was long! really? Mr. Wayne acts.",
        "Фильм хороший. Г. Иванов сыграл хорошо, т. е. отлично.",  # noqa: RUF001
        "Le film était bon. Le reverrez-vous ?",
        "... 12 \U0001f600 !",
    ],
)
def test_latin_and_cyrillic_texts_are_split_as_before(text: str) -> None:
    assert list(split_text(text, BY_SCRIPT)) == list(split_text(text, NUPUNKT))


def test_each_paragraph_is_split_by_the_rule_of_its_script() -> None:
    text = "I met Mr. Wayne. It rained.\n\n很好。再来！"  # noqa: RUF001
    assert list(split_text(text, BY_SCRIPT)) == ["I met Mr. Wayne.", "It rained.", "很好。", "再来！"]  # noqa: RUF001


@given(text=st.text(alphabet="は。「」'\"(. \n\ud800\u17d4١", max_size=80))  # noqa: RUF001
def test_splitting_by_script_loses_nothing_but_space(text: str) -> None:
    assert "".join("".join(split_text(text, BY_SCRIPT)).split()) == "".join(text.split())


def test_a_paragraph_is_split_in_parts_as_it_is_whole() -> None:
    paragraph = "".join(f"これは{number}番です。「はい。」" for number in range(60))
    whole = list(split_text(paragraph, BY_SCRIPT))
    assert list(split_text(paragraph, BY_SCRIPT, longest=100)) == whole
    assert len(whole) == 120


@pytest.mark.parametrize(
    ("splitter", "sentences"),
    [
        (LINES, ["One. Two.", "Three here."]),
        (TEXTS, ["One. Two. Three here."]),
        (NUPUNKT, ["One.", "Two.", "Three here."]),
    ],
)
def test_text_that_is_split_already_is_left_alone(splitter: str, sentences: list[str]) -> None:
    assert list(split_text("One.  Two.\n \nThree<br />here.", splitter)) == sentences


def test_a_data_set_is_split_by_script_where_a_hundredth_of_its_texts_needs_it() -> None:
    english, chinese = ["It rained."] * 99, ["下雨了。"]
    assert splitter_of(english + chinese) == BY_SCRIPT
    assert splitter_of(english * 2 + chinese) == NUPUNKT
    assert splitter_of([]) == NUPUNKT


@pytest.mark.parametrize("text", ["", "\u2026 12", "caf\u00e9", "Привет", "\U0001d400\U0001d401", "A 东"])
def test_a_text_without_other_letters_has_no_other_script(text: str) -> None:
    assert not has_other_script(text)


def test_a_split_means_sentences_or_data_by_its_value() -> None:
    assert Settings(split="none") == Settings(sentence_split="none")
    assert Settings(split="validation") == Settings(data_split="validation")
    assert Settings(split="lines", data_split="test") == Settings(sentence_split="lines", data_split="test")


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"split": "test", "data_split": "train"}, "--split=test and --data-split=train differ"),
        ({"split": "lines", "sentence_split": "none"}, "--split=lines and --sentence-split=none differ"),
        ({"sentence_split": "words"}, "--sentence-split=words is not known"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, str], part: str) -> None:
    with pytest.raises(IngestError, match=f"^{part}.* Give one of"):
        Settings(**settings)  # type: ignore[arg-type]


# -- in a store -----------------------------------------------------------------------------------------


def write_texts(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path


def texts_of(place: str) -> set[str]:
    return set(store.open_corpus(place).sentences.text.values)


def test_texts_in_another_script_are_one_sentence_each_no_more(ingest: Ingest, tmp_path: Path) -> None:
    sentences, between = CHINESE
    data = write_texts(tmp_path / "zh.txt", [between.join(sentences)] * 3)
    assert texts_of(ingest(tmp_path / "store", data=data)) == set(sentences)


def test_english_texts_keep_the_identity_that_they_had(ingest: Ingest, tmp_path: Path) -> None:
    data = write_texts(tmp_path / "en.txt", ["A good film. It was sad.", "The plot was bad."])
    opened = store.open_corpus(ingest(tmp_path / "store", data=data))
    assert opened.corpus_attributes["splitter"] == "nupunkt-0.8/1"
    assert sentence_hash("It was sad.", seed=0) == 2532277606697384094
    assert sentence_hash("It was sad.", seed=0) in opened.sentences.sentence_hash.values


def test_a_corpus_from_before_is_extended_where_its_scripts_were_not_noted(ingest: Ingest, tmp_path: Path) -> None:
    data = write_texts(tmp_path / "en.txt", ["A good film. It was sad.", "The plot was bad."])
    older = store.open_corpus(ingest(tmp_path / "store", data=data, sentences=2))
    with rewritten(tmp_path / "store") as writer:
        del writer.group(f"corpus/{older.attributes['corpus']}").attrs["scripts_known"]
    newer = store.open_corpus(ingest(tmp_path / "store", data=data, sentences=3))
    assert newer.name == older.name
    assert (older.n_sentences, newer.n_sentences) == (2, 3)


@pytest.mark.slow
def test_how_a_corpus_is_split_is_a_part_of_its_identity(ingest: Ingest, tmp_path: Path) -> None:
    data = write_texts(tmp_path / "en.txt", ["A good film. It was sad.", "The plot was bad."])
    place = ingest(tmp_path / "store", data=data)
    ingest(tmp_path / "store", data=data, sentence_split="none")
    assert len(store.open_snapshot(place).models) == 2


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["A film."] * 2, "No sentence is longer than 24 wordpieces."),
        (
            ["A film.", "good " * 40],
            "WARNING: 1 of 2 sentences (50%) is longer than 24 wordpieces and was cut. What follows the cut is in no number. "
            "Give a --max-length above 24 (this model reads 128).",
        ),
    ],
)
def test_an_ingest_ends_with_the_share_of_cut_sentences(
    texts: list[str], said: str, ingest: Ingest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(tmp_path / "store", data=write_texts(tmp_path / "en.txt", texts))
    assert capsys.readouterr().out.splitlines()[-1] == said


@pytest.mark.parametrize(
    ("cut", "sentences", "share"),
    [
        (2, 3_000_000, "under 0.01%"),
        (3, 4000, "0.075%"),
        (12, 90, "13%"),
        (3980, 4000, "99.5%"),
        (9996, 10_000, "over 99.9%"),
        (12, 12, "100%"),
    ],
)
def test_a_share_of_cut_sentences_is_written_as_people_write_it(cut: int, sentences: int, share: str) -> None:
    assert f" ({share}) are longer than 128 wordpieces" in cut_sentences(cut, sentences, 128)
