"""Stores written before there were checksums open, say so, and grow."""

from pathlib import Path

import pytest
import zarr
from zarr.codecs import ZstdCodec

import store
from store import groups, writer
from store.__main__ import main
from store.schema import Array
from tests.stores import FEATURES, Ingest


@pytest.fixture
def older(ingest: Ingest, tmp_path: Path) -> str:
    """A store as it was written before."""

    def codecs(array: Array) -> tuple[ZstdCodec, ...]:
        return (ZstdCodec(level=3),) if array.compressed else ()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "_codecs", codecs)
        patch.setattr(writer, "record_checksums", lambda _place: None)
        return ingest(tmp_path / "store", sentences=10)


def test_verify_says_that_an_older_store_has_no_checksums(older: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", older]) == 0
    sound, said = capsys.readouterr().out.splitlines()
    assert " is sound: " in sound
    assert "arrays carry no checksums, as an older Headscape wrote them" in said


def test_an_older_store_grows_as_a_new_one_does(older: str, ingest: Ingest, tmp_path: Path) -> None:
    new = store.open_corpus(ingest(tmp_path / "new", sentences=15))
    grown = store.open_corpus(ingest(Path(older), sentences=15))
    for name in ("query", "token_statistic", "value_norm"):
        assert getattr(grown, name).equals(getattr(new, name))
    assert main(["verify", older]) == 0


def test_what_is_added_to_an_older_store_carries_checksums(older: str, ingest: Ingest) -> None:
    features = store.open_snapshot(ingest(Path(older), sentences=10, **FEATURES)).root
    kinds = {
        groups.has_checksums(array) for _, array in features.members(max_depth=None) if isinstance(array, zarr.Array)
    }
    assert kinds == {True, False}
