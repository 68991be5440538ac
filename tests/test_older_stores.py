"""Stores from before the checksums: they open, say that checksums are missing, and grow."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from zarr.codecs import Crc32cCodec

import store
from dashboard.pages import TOPICS
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store.__main__ import main
from store.repository.arrays import CONSTANT, has_checksums
from store.repository.checksums import FINGERPRINTS, LIST
from store.repository.writer import open_writer
from store.schema import SCHEMA_VERSION
from store.schema.pictures import NORMALIZATIONS
from tests.stores import FEATURES, Ingest

LAST = list(store.STATISTICS)[-1]


@pytest.fixture(scope="module")
def written_before(few_store: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store as Headscape 0.1 wrote it."""
    place = str(shutil.copytree(few_store, tmp_path_factory.mktemp("before") / "store"))
    with open_writer(place) as opened:
        model = opened.group(f"models/{store.open_corpus(place).name}")
        constant = model[CONSTANT][:]
        for path, array in opened.root.members(max_depth=None):
            if isinstance(array, zarr.Array):
                added = constant[:, :, None] if path == f"{model.path}/key" else None
                write_without_checksums(opened.root, path, array, added)
        del model[CONSTANT]
        opened.root.attrs["schema_version"] = 3
        opened.publish("as it was written before")
    for name in (LIST, FINGERPRINTS):
        (Path(place) / name).unlink()
    return place


def write_without_checksums(root: zarr.Group, path: str, array: zarr.Array[Any], added: np.ndarray | None) -> None:
    """Write an array anew, without the checksums of its chunks; `added` is added to its numbers."""
    values = array[...]
    new = root.create_array(
        path,
        shape=array.shape,
        dtype=array.dtype,
        chunks=array.chunks,
        shards=array.shards,
        fill_value=array.fill_value,
        dimension_names=getattr(array.metadata, "dimension_names", None),
        compressors=[codec for codec in array.compressors if not isinstance(codec, Crc32cCodec)],
        attributes=dict(array.attrs),
        overwrite=True,
    )
    new[...] = values if added is None else (values + added).astype(array.dtype)


@pytest.fixture
def older(written_before: str, tmp_path: Path) -> str:
    return str(shutil.copytree(written_before, tmp_path / "store"))


def test_an_older_store_opens_and_its_keys_are_read_as_stored(older: str) -> None:
    snapshot = store.open_snapshot(older)
    assert snapshot.root.attrs["schema_version"] == 3
    stored = snapshot.group(f"models/{snapshot.corpus().name}")["key"]
    assert isinstance(stored, zarr.Array)
    np.testing.assert_array_equal(snapshot.corpus().key, stored[:, :, : snapshot.corpus().key.sizes["token"]])


def test_verify_says_that_an_older_store_has_no_checksums(older: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", older]) == 0
    sound, note = capsys.readouterr().out.splitlines()
    assert " is sound: " in sound
    assert "arrays carry no checksums, since an older Headscape wrote them" in note


@pytest.mark.slow
def test_an_older_store_grows_as_a_new_one_does(older: str, ingest: Ingest, three: str) -> None:
    new = store.open_corpus(three)
    grown = store.open_corpus(ingest(Path(older), sentences=new.n_sentences))
    for name in ("query", "token_statistic", "value_norm"):
        assert getattr(grown, name).equals(getattr(new, name))
    xr.testing.assert_allclose(grown.key, new.key, rtol=1e-3, atol=1e-3)
    assert store.open_snapshot(older).root.attrs["schema_version"] == SCHEMA_VERSION
    assert main(["verify", older]) == 0


def test_arrays_added_to_an_older_store_carry_checksums(older: str, ingest: Ingest) -> None:
    features = store.open_snapshot(ingest(Path(older), sentences=10, **FEATURES)).root
    kinds = {has_checksums(array) for _, array in features.members(max_depth=None) if isinstance(array, zarr.Array)}
    assert kinds == {True, False}


@pytest.fixture(scope="module")
def without_last(few_store: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store from before the last of the statistics was defined."""
    place = str(shutil.copytree(few_store, tmp_path_factory.mktemp("without") / "store"))
    with open_writer(place) as opened:
        for _, array in opened.group(f"models/{store.open_corpus(place).name}").arrays():
            if "statistic" in (dims := array.metadata.dimension_names or ()):
                array.resize([size - (dim == "statistic") for dim, size in zip(dims, array.shape, strict=True)])
        opened.publish("as it was written before")
    return place


def test_a_statistic_that_an_older_store_lacks_is_nan_and_the_others_stay(without_last: str, few_store: str) -> None:
    older, whole = store.open_corpus(without_last), store.open_corpus(few_store)
    assert older.missing_statistics == (LAST,)
    assert whole.missing_statistics == ()
    for name in ("token_statistic", "head_statistic", "head_interval", "layer_interval"):
        own, other = getattr(older, name), getattr(whole, name)
        assert own.drop_sel(statistic=LAST).equals(other.drop_sel(statistic=LAST))
        assert own.sel(statistic=LAST).isnull().all()
    assert older.token_statistic[-1, 0, 0, :3].isnull().all()


def test_a_store_that_lacks_a_statistic_is_sound(without_last: str) -> None:
    assert main(["verify", without_last]) == 0


@pytest.mark.parametrize("page", list(TOPICS))
def test_every_page_shows_a_store_that_lacks_a_statistic(without_last: str, page: str) -> None:
    shown = str(TOPICS[page].layout(resolve(ServedStore(without_last), page, f"statistic={LAST}")))
    assert ("This store has no norm-weighted attention to itself" in shown) is (page == "statistics")


def test_a_store_that_lacks_a_normalisation_gets_it_at_the_next_ingest(
    few: str, few_store: str, ingest: Ingest
) -> None:
    path = f"models/{store.open_corpus(few).name}/normalizations"
    with open_writer(few) as opened:
        for _, array in opened.group(path).arrays():
            if "normalization" in (dims := array.metadata.dimension_names or ()):
                array.resize([len(NORMALIZATIONS) - 1, *array.shape[1:]])
                assert dims[0] == "normalization"
        opened.publish("as it was written before")
    ingest(Path(few), sentences=10)
    whole = store.open_corpus(few_store).normalizations
    assert store.open_corpus(few).normalizations.equals(whole)
