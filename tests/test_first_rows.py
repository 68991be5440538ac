"""An ingest reads only the first reviews of a large data set on the hub, as many as its budget needs, and says so."""

import re
from pathlib import Path
from typing import Any

import datasets
import pytest

import store
from dashboard.store_page.contents import command, corpus_section
from ingest.run.errors import IngestError, short
from ingest.run.settings import Settings
from ingest.text import hub
from ingest.text.hub import FirstRows, HubData, HubSize, part_of
from store.describe import as_text, describe
from tests.stores import Ingest

DATA, COMMIT = "films/large", "0123456789abcdef0123456789abcdef01234567"
LARGE, WHOLE = HubData(DATA, None, COMMIT), f"hub:{DATA}@{COMMIT}"
GIGABYTES = 3 << 30


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of first rows."""
    monkeypatch.setattr(hub, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def sized(size: HubSize | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the hub say this size of every split."""
    monkeypatch.setattr(hub, "hub_size", lambda *_: size)


def part(fewest: int | None = 8_000, *, first: int | None = None, held: tuple[str, ...] = ()) -> FirstRows:
    """The part of the large data set that is read."""
    return part_of(LARGE, None, identity=WHOLE, first=first, fewest=fewest, held=held)


@pytest.mark.parametrize(
    ("reviews", "size", "fewest", "first"),
    [
        (3_000_000, GIGABYTES, 8_000, 50_000),
        (3_000_000, GIGABYTES, 50_001, 200_000),
        (None, GIGABYTES, 8_000, 50_000),
        (199_999, GIGABYTES, 8_000, None),
        (3_000_000, 1 << 30, 8_000, None),
    ],
)
def test_a_part_is_read_of_a_data_set_that_is_much_larger_than_the_budget(
    reviews: int | None, size: int, fewest: int, first: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sized(HubSize(reviews, size), monkeypatch)
    assert part(fewest).first == first


def test_all_is_read_where_all_is_asked_for_or_no_size_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    sized(HubSize(3_000_000, GIGABYTES), monkeypatch)
    assert part(None) == FirstRows(None)
    sized(None, monkeypatch)
    assert part() == FirstRows(None)


@pytest.mark.parametrize(
    ("held", "first"),
    [((f"{WHOLE}#first=200000",), 200_000), ((WHOLE, f"{WHOLE}#first=50000"), None), ((f"{WHOLE}#first=7",), None)],
)
def test_a_store_keeps_the_part_that_it_has_and_the_hub_is_not_asked(
    held: tuple[str, ...], first: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sized(None, monkeypatch)
    assert part(held=held).first == first


def test_a_part_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sized(HubSize(3_000_000, GIGABYTES), monkeypatch)
    part()
    said = "films/large has 3,000,000 reviews (3.2 GB). The sample is of the first 50,000, read as a stream; --first=all reads all"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("first", ["0", "-1", "1.5", "many", "9" * 5_000])
def test_what_is_no_number_of_reviews_is_refused(first: str) -> None:
    with pytest.raises(
        IngestError,
        match=rf"--first={re.escape(short(first))} is no number of reviews\. Give one, such as 50000, or all\.",
    ):
        Settings(first=first)


def stream(_place: str, *, streaming: bool, **_: Any) -> Any:
    """Stands for `load_dataset` of datasets, for a stream alone."""
    assert streaming
    texts = [f"The film {row} was good." for row in range(200)]
    return datasets.Dataset.from_dict({"text": texts}).to_iterable_dataset()


@pytest.fixture
def large_store(ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of 40 sentences from a data set of 3,000,000 reviews: 80 reviews are enough, and 128 are read."""
    monkeypatch.setattr(hub, "FIRST", 8)
    with monkeypatch.context() as patch:  # the hub is out of reach afterwards
        patch.setattr(datasets, "load_dataset", stream)
        sized(HubSize(3_000_000, GIGABYTES), patch)
        return ingest(tmp_path / "store", data=f"{DATA}@{COMMIT}")


def test_a_store_says_which_reviews_its_sample_is_of(large_store: str) -> None:
    described = describe(store.open_snapshot(large_store))
    assert "; sample of the first 128 of 3,000,000 reviews" in as_text(described)
    assert "the first 128 of 3,000,000 reviews; the others are in no number" in str(
        corpus_section(described.corpora[0])
    )
    assert "--first=128" in command(described.models[0].provenance["settings"])


@pytest.mark.slow
def test_a_larger_budget_grows_the_same_corpus_without_the_hub(
    large_store: str, ingest: Ingest, capsys: pytest.CaptureFixture[str]
) -> None:
    before = store.open_corpus(large_store).corpus_attributes["data_identity"]
    ingest(Path(large_store), data=DATA, sentences=60)
    grown = store.open_corpus(large_store)
    assert (grown.n_sentences, grown.corpus_attributes["data_identity"]) == (60, before)
    assert f"The sample of {DATA} is of the first 128 of 3,000,000 reviews, as before" in capsys.readouterr().out
