"""Sound files of a store in the wrong place: each is found and named, and mended where that is possible."""

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path

import pytest
from icechunk import IcechunkError

import store
from dashboard.app import create_app
from dashboard.web.served_store import ServedStore
from store.__main__ import main
from store.mend import mend
from store.repository.access import INGEST, MAIN, named_snapshot, open_repository
from store.repository.checksums import SOON, checksum, relist
from store.repository.errors import StoreCorrupt
from store.repository.history import history
from store.repository.writer import open_writer
from store.verify import wrong_files
from tests.client import data_link
from tests.flips import flip


def exchange(place: Path) -> list[Path]:
    """Exchange the two largest chunk files of one size and checksum whose bytes differ: shards of queries or keys."""
    alike: dict[tuple[int, str], list[Path]] = defaultdict(list)
    for file in sorted((place / "chunks").iterdir()):
        alike[file.stat().st_size, checksum(file)].append(file)
    pairs = [(a, b) for files in alike.values() for a, b in pairwise(files)]
    first, second = max(
        (pair for pair in pairs if pair[0].read_bytes() != pair[1].read_bytes()),
        key=lambda pair: pair[0].stat().st_size,
    )
    first.rename(place / "aside")
    second.rename(first)
    (place / "aside").rename(second)
    return [first, second]


@pytest.mark.slow
def test_exchanged_chunk_files_give_no_number(copy: str) -> None:
    exchange(Path(copy))
    with pytest.raises(StoreCorrupt, match="holds the bytes of chunks/"):
        store.open_corpus(copy).pattern(3, layer=1, head=0)


def test_exchanged_chunk_files_are_found_while_a_server_has_the_store_open(copy: str) -> None:
    client = create_app(ServedStore(copy)).server.test_client()
    corpus = store.open_corpus(copy)
    route = f"{data_link(corpus)}/points/pca-exact-2d/1/0.bin?tokens=20"
    assert client.get(route).status_code == 200
    exchange(Path(copy))
    time.sleep(SOON)
    answer = client.get(f"{route}&again")
    assert answer.status_code == 503
    assert "holds the bytes of chunks/" in answer.text


def test_verify_names_both_exchanged_files(copy: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (f"chunks/{file.name}" for file in exchange(Path(copy)))
    assert main(["verify", copy]) == 1
    out = capsys.readouterr().out
    assert f"{first} holds the bytes of {second}." in out
    assert f"{second} holds the bytes of {first}." in out


def test_a_copy_of_a_store_is_sound(copy: str, tmp_path: Path) -> None:
    moved = shutil.copytree(copy, tmp_path / "moved", copy_function=shutil.copyfile)
    assert main(["verify", str(moved)]) == 0


def test_a_store_without_fingerprints_can_be_read(copy: str) -> None:
    (Path(copy) / "fingerprints").unlink()
    assert store.open_corpus(copy).pattern(3, layer=1, head=0).sum() > 0
    assert main(["verify", copy]) == 0


def test_an_older_file_of_branch_main_is_told_and_mended(copy: str, capsys: pytest.CaptureFixture[str]) -> None:
    newest, before = (publication.snapshot for publication in history(open_repository(copy), copy)[:2])
    file = Path(copy) / "refs" / f"branch.{MAIN}" / "ref.json"
    file.write_text(file.read_text().replace(newest, before))
    sentence = f"refs/branch.main/ref.json names snapshot {before}, but snapshot {newest} was published after it."
    assert list(wrong_files(copy)) == [sentence]
    assert main(["verify", copy]) == 1
    assert f"Run `headscape mend --store={copy}`" in capsys.readouterr().err
    assert mend(copy)[0].startswith(sentence)
    assert named_snapshot(Path(copy), MAIN) == newest
    assert main(["verify", copy]) == 0


def test_an_older_file_of_branch_ingest_is_told_and_mended(copy: str) -> None:
    newest, before = (publication.snapshot for publication in history(open_repository(copy), copy)[:2])
    file = Path(copy) / "refs" / f"branch.{INGEST}" / "ref.json"
    file.write_text(file.read_text().replace(named_snapshot(Path(copy), INGEST), before))
    (sentence,) = wrong_files(copy)
    assert sentence.endswith(f"which does not follow what is published, snapshot {newest}.")
    mend(copy)
    assert named_snapshot(Path(copy), INGEST) == newest
    assert list(wrong_files(copy)) == []


def damage_unnoticed(file: Path) -> None:
    """Flip a bit of a snapshot such that icechunk still reads it."""
    sound = file.read_bytes()
    for seed in count():
        flip(file, seed=seed)
        try:
            list(open_repository(str(file.parents[1])).ancestry(snapshot_id=file.name))
        except IcechunkError:
            file.write_bytes(sound)
        else:
            return


def commit_unpublished(place: str) -> None:
    with open_writer(place) as writer:
        writer.root.attrs["half"] = "done"
        writer.commit("work that is not published yet")


@pytest.mark.parametrize(
    "committed",
    [pytest.param(False, marks=pytest.mark.slow), True],
    ids=["both branches name it", "branch ingest is further"],
)
@pytest.mark.parametrize(
    "damage",
    [Path.unlink, lambda file: file.write_bytes(b"broken"), damage_unnoticed],
    ids=["lost", "broken", "flipped"],
)
def test_a_mended_store_is_sound(damage: Callable[[Path], object], committed: bool, copy: str) -> None:
    if committed:
        commit_unpublished(copy)
    lost = named_snapshot(Path(copy), MAIN)
    damage(Path(copy) / "snapshots" / lost)
    assert main(["verify", copy]) == 1
    assert main(["mend", copy]) == 0
    assert main(["verify", copy]) == 0
    assert mend(copy) == []
    assert named_snapshot(Path(copy), MAIN) != lost


def test_a_damaged_snapshot_is_put_aside_and_not_deleted(copy: str) -> None:
    file = Path(copy) / "snapshots" / named_snapshot(Path(copy), MAIN)
    damage_unnoticed(file)
    damaged = file.read_bytes()
    assert mend(copy)[-1].endswith(f" Moved to the folder damaged/ of the store: snapshots-{file.name}.")
    assert (Path(copy) / "damaged" / f"snapshots-{file.name}").read_bytes() == damaged
    assert not file.exists()


@pytest.mark.parametrize("name", ["checksums", "fingerprints"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flipped_bit_in_a_list_is_told_from_damaged_data(
    name: str, seed: int, copy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(Path(copy) / name, seed=seed)
    assert main(["verify", copy]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == f"The file `{name}` is damaged; the data are not."
    assert f"Run `headscape mend --store={copy}`" in printed.err
    assert len(mend(copy)) == 1
    assert main(["verify", copy]) == 0


def test_files_are_not_read_again_that_nobody_has_touched(copy: str) -> None:
    """The bytes of two files are exchanged and their times put back: reading the files again would find it."""
    files = exchange(Path(copy))
    relist(Path(copy))
    first, second = (file.read_bytes() for file in files)
    for file, other in zip(files, (second, first), strict=True):
        touched = file.stat()
        file.write_bytes(other)
        os.utime(file, ns=(touched.st_atime_ns, touched.st_mtime_ns))
    assert store.open_corpus(copy).pattern(3, layer=1, head=0).sum() > 0
