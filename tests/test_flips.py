"""One flipped bit in any file of a store is found by `verify`, and gives no wrong number."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import zarr

import store
from dashboard.app import create_app
from dashboard.web.errors import UNREADABLE
from dashboard.web.served_store import ServedStore
from store.__main__ import main
from store.repository.arrays import has_checksums
from store.verify import wrong_files
from tests.flips import chosen_files, flip, flipped, read_arrays


@pytest.fixture
def copy(tiny_store: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_store, tmp_path / "store"))


def test_verify_names_every_file_with_a_flipped_bit(copy: Path) -> None:
    files = [file for file in chosen_files(copy, 40, seed=0) if file.name != "checksums"]
    for seed, file in enumerate(files):
        flip(file, seed=seed)
    findings = list(wrong_files(str(copy)))
    assert [file for file in files if not any(str(file.relative_to(copy)) in finding for finding in findings)] == []
    assert len(findings) == len(files) > 30


@pytest.mark.parametrize("seed", range(8))
def test_verify_finds_a_flipped_bit_in_the_list_of_checksums(seed: int, copy: Path) -> None:
    flip(copy / "checksums", seed=seed)
    assert list(wrong_files(str(copy)))


@pytest.mark.slow
def test_a_flipped_bit_never_changes_a_number_silently(few: str) -> None:
    sound = read_arrays(few)
    wrong = []
    for seed, file in enumerate(chosen_files(Path(few), 10, seed=1)):
        with flipped(file, seed=seed):
            arrays = read_arrays(few)
        wrong += [(file, path) for path, value in arrays.items() if isinstance(value, bytes) and value != sound[path]]
    assert wrong == []


@pytest.mark.parametrize(
    ("kind", "sentence"), [("chunks", UNREADABLE), ("manifests", "A file of the store is damaged: ")]
)
def test_damage_is_served_as_one_sentence(kind: str, sentence: str, copy: Path, base: str) -> None:
    for file in (copy / kind).iterdir():
        content = np.frombuffer(file.read_bytes(), np.uint8).copy()
        content[::16] ^= 1  # flips bits in every tile of a shard, as a route reads only some tiles
        file.write_bytes(content.tobytes())
    client = create_app(ServedStore(str(copy))).server.test_client()
    # Arrays that are large enough to have their own chunk files.
    for route in ("points/pca-exact-2d/1/0.bin?tokens=20", "sentence/3/neuron/1/1/2.json"):
        answer = client.get(f"{base}/{route}")
        assert answer.status_code == 503
        assert answer.text.startswith(sentence)


def test_a_page_of_a_damaged_store_says_so(copy: Path) -> None:
    for file in (copy / "chunks").iterdir():
        file.write_bytes(bytes(file.stat().st_size))
    client = create_app(ServedStore(str(copy))).server.test_client()
    answer = client.post("/data/page", data={"pathname": "/statistics", "search": "", "snapshot": ""})
    assert answer.status_code == 200
    assert "This part of the store cannot be read." in answer.text


def test_every_array_carries_checksums(copy: Path) -> None:
    members = store.open_snapshot(str(copy)).root.members(max_depth=None)
    assert [path for path, array in members if isinstance(array, zarr.Array) and not has_checksums(array)] == []


def test_a_flipped_bit_in_a_number_is_named_with_its_array(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chunk = max((copy / "chunks").iterdir(), key=lambda file: file.stat().st_size)
    flip(chunk, seed=0)
    assert main(["verify", str(copy)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"chunks/{chunk.name} does not match its checksum."
    assert lines[1].startswith("/models/")


@pytest.mark.slow
def test_a_store_without_its_list_of_checksums_is_not_sound(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "checksums").unlink()
    assert main(["verify", str(copy)]) == 1
    assert "The file `checksums` does not list snapshot" in capsys.readouterr().out
