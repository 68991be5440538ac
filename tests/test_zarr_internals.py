"""Undocumented parts of zarr and icechunk that Headscape uses: each test names the code to change when it fails."""

import inspect
from pathlib import Path

import numpy as np
import pytest
import zarr
from icechunk import Repository, local_filesystem_storage
from zarr.codecs import Crc32cCodec

from store.repository import access, checksums
from store.repository.zarr_internals import CHUNK_READER, is_damage, run_in_zarr


def test_zarr_still_runs_coroutines_on_its_event_loop() -> None:
    ran = []

    async def work(error: Exception | None = None) -> None:
        ran.append(True)
        if error:
            raise error

    advice = (
        "zarr.core.sync.sync has changed: adapt store/repository/zarr_internals.py and zarr's range in pyproject.toml"
    )
    assert not inspect.iscoroutinefunction(run_in_zarr)
    run_in_zarr(work())
    with pytest.raises(KeyError):
        run_in_zarr(work(KeyError("lost")))
    assert ran == [True, True], advice


def test_zarr_still_reads_chunks_through_the_module_that_marks_damage(tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path, shape=8, chunks=8, dtype="f4", compressors=[Crc32cCodec()])
    array[:] = np.arange(8)
    (chunk,) = (file for file in tmp_path.rglob("0") if file.is_file())
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ValueError, match="checksum") as raised:
        array[:]
    assert is_damage(raised.value), f"zarr no longer reads chunks through {CHUNK_READER}: adapt zarr_internals.py"
    with pytest.raises(ValueError, match="shape") as mistake:
        np.zeros(3).reshape(2)
    assert not is_damage(mistake.value)


def test_icechunk_still_writes_its_branch_and_data_files_in_the_same_places(tmp_path: Path) -> None:
    repository = Repository.create(local_filesystem_storage(str(tmp_path)))
    session = repository.writable_session("main")
    zarr.create_array(session.store, shape=4096, dtype="f8", chunks=4096, compressors=None)[:] = np.arange(4096)
    snapshot = session.commit("numbers")
    advice = "icechunk's files have changed: adapt store/repository/access.py, checksums.py and icechunk's range"
    assert access.named_snapshot(tmp_path, access.MAIN) == snapshot, advice
    assert {file.partition("/")[0] for file in checksums.file_stamps(tmp_path)} == set(checksums.FOLDERS), advice
    access.point_branch(tmp_path, access.MAIN, snapshot)
    assert Repository.open(local_filesystem_storage(str(tmp_path))).lookup_branch("main") == snapshot, advice
