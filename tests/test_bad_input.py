"""Whatever is wrong with settings and data, a person gets one sentence that says what to do next."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import store
from ingest.run.errors import IngestError
from ingest.run.process import exit_status
from ingest.run.settings import DEFAULT_SENTENCES, Settings, parse
from ingest.text.reviews import find_data

Complaint = Callable[..., str]
Ingest = Callable[..., str]


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"sentences": 0}, "--sentences=0 is too few"),
        ({"sentences": -3}, "--sentences=-3 is too few"),
        ({"tokens": 0}, "--tokens=0 is too few"),
        ({"batch": 0}, "--batch=0 is too few"),
        ({"sentences": "abc"}, "--sentences=abc is not a whole number"),
        ({"tokens": "1.5"}, "--tokens=1.5 is not a whole number"),
        ({"sentences": 5, "tokens": 50}, "--sentences and --tokens"),
        ({"max_length": 2}, "--max-length=2 leaves no room"),
        ({"seed": 1 << 64}, f"--seed={1 << 64}"),
        ({"device": "tpu"}, "no device 'tpu'"),
        ({"dtype": "int8"}, "--dtype=int8 is not known"),
        ({"text": "body"}, "no column 'body', it has: text, label"),
        ({"data": "missing.csv"}, "no data file missing.csv"),
        ({"data": "nobody/nothing"}, "neither a local file nor in the cache, and the hub cannot be reached"),
        ({"data": "tests/javascript"}, "The folder tests/javascript holds no data"),
        ({"data": "no/*.csv"}, "No file is named as no/*.csv"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(settings: dict[str, object], part: str, complaint: Complaint) -> None:
    assert part in complaint(**settings)


@pytest.mark.parametrize("setting", ["data", "model"])
def test_a_link_to_nothing_and_a_pipe_are_said_to_be_that(setting: str, tmp_path: Path, complaint: Complaint) -> None:
    (tmp_path / "moved.csv").symlink_to(tmp_path / "nowhere.csv")
    assert "moved.csv is a link whose target is not there or cannot be read." in complaint(
        **{setting: tmp_path / "moved.csv"}
    )
    os.mkfifo(tmp_path / "pipe.csv")
    assert "pipe.csv is neither a file nor a folder, but a pipe or a device." in complaint(
        **{setting: tmp_path / "pipe.csv"}
    )


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("none.csv", b"", "is empty"),
        ("head.csv", b"text,label\n", "head"),
        ("blank.csv", b'text,label\n"  ",1\n"<br />",0\n', "no text in its column 'text'"),
        ("blank.txt", b"\n \n\n", "All lines of blank are empty. Give a file with text."),
        ("reviews.doc", b"a film", "does not end in .csv"),
    ],
)
def test_a_file_without_reviews_is_refused(
    name: str, content: bytes, part: str, tmp_path: Path, complaint: Complaint
) -> None:
    (tmp_path / name).write_bytes(content)
    assert part in complaint(data=tmp_path / name)


def test_a_column_that_cannot_be_categories_is_left_out_with_a_sentence(
    ingest: Ingest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = pa.array([0, 1], pa.timestamp("us", "Mars/Phobos"))
    pq.write_table(pa.table({"text": ["A film.", "A sad one."], "seen": times}), tmp_path / "films.parquet")
    assert store.open_corpus(ingest(tmp_path / "store", data=tmp_path / "films.parquet")).n_sentences == 2
    assert (
        "Columns of films that cannot be categories are left out: 'seen' (timestamp[us, tz=Mars/Phobos] outside of "
        "Python's dates). Save a column as text to filter by it.\n" in capsys.readouterr().out
    )


def test_reviews_without_text_as_in_files_without_that_column_are_counted(
    ingest: Ingest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (films := tmp_path / "films").mkdir()
    pq.write_table(pa.table({"text": ["A film.", "", " ", None]}), films / "train-0.parquet")
    pq.write_table(pa.table({"body": ["A sad one.", "A dull one."]}), films / "train-1.parquet")
    assert store.open_corpus(ingest(tmp_path / "store", data=films)).n_sentences == 1
    assert "5 of 6 reviews of films without text in the column 'text': left out.\n" in capsys.readouterr().out
    (tmp_path / "lines.txt").write_text("A film.\n\nA sad one.\n")
    ingest(tmp_path / "lines", data=tmp_path / "lines.txt")
    assert "without text" not in capsys.readouterr().out


def test_text_of_ten_thousand_words_is_cut_and_counted(ingest: Ingest, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("film " * 10_000 + "\nA sad one.\n")
    corpus = store.open_corpus(ingest(tmp_path / "store", data=tmp_path / "long.txt"))
    assert sorted(corpus.sentences.row_size.values) == [6, 24]
    assert corpus.corpus_attributes["truncated"] == 1


def test_only_sentences_of_the_store_are_counted_as_cut(ingest: Ingest, tmp_path: Path) -> None:
    """With a budget of tokens, more sentences are tokenized than the store takes."""
    (tmp_path / "long.txt").write_text("".join(f"film {chr(97 + n)} {'long ' * 30}\n" for n in range(20)))
    corpus = store.open_corpus(ingest(tmp_path / "store", data=tmp_path / "long.txt", tokens=50))
    assert corpus.n_sentences == corpus.corpus_attributes["truncated"] == 2


#: Texts, and their wordpieces.
ODD = {
    "\U0001f600 \U0001f389": ["[UNK]", "[UNK]"],
    "\u05e9\u05dc\u05d5\u05dd": ["[UNK]"],
    "\u200b\u200f": [],
    "A\x00 film": ["a", "film"],
}


def test_any_text_is_ingested(ingest: Ingest, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in ("  ", *ODD)))
    corpus = store.open_corpus(ingest(tmp_path / "store", data=tmp_path / "odd.jsonl"))
    found = {
        str(text): corpus.wordpieces(corpus.sentence_rows(sentence))
        for sentence, text in enumerate(corpus.sentences.text.values)
    }
    assert found == {text: ["[CLS]", *pieces, "[SEP]"] for text, pieces in ODD.items()}


def test_a_budget_is_the_default_one_where_none_is_given() -> None:
    assert parse(["--sentences", "", "--tokens", ""]) == Settings()
    assert DEFAULT_SENTENCES == 4000


@pytest.mark.parametrize("flags", [["--sentences", "7"], ["--tokens", "70"], ["--seed", "-5"], ["--max-length", "9"]])
def test_numbers_are_read_from_flags(flags: list[str]) -> None:
    assert getattr(parse(flags), flags[0][2:].replace("-", "_")) == int(flags[1])


def test_every_setting_has_a_flag_that_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(f"--{name.replace('_', '-')} " in shown for name in Settings.__dataclass_fields__)


def fail(error: Exception) -> None:
    raise error


def test_a_mistake_in_the_program_is_not_hidden() -> None:
    """Only an error that a person can mend becomes a sentence."""
    with pytest.raises(ZeroDivisionError):
        exit_status(partial(fail, ZeroDivisionError()), name="ingest")


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError("MPS backend out of memory (MPS allocated")]
)
def test_a_full_accelerator_is_reported(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_status(partial(fail, error), name="ingest") == 1
    assert "Give a smaller --batch or --max-length, or --device=cpu." in capsys.readouterr().err


def test_settings_are_checked_wherever_they_are_made() -> None:
    with pytest.raises(IngestError, match="--sentences=0"):
        Settings(sentences=0)


def test_an_unreachable_hub_is_reported() -> None:
    """Every test is offline: the hub is out of reach."""
    with pytest.raises(
        IngestError, match=r"neither a local file nor in the cache, and the hub cannot be reached .* Give --data="
    ):
        find_data("somebody/reviews")
