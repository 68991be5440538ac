"""Fingerprints of chunk files: `verify` finds changes in files whose ends, size and CRC-32C are as they were."""

import zlib
from pathlib import Path

import pytest
from google_crc32c import value

from store.repository.checksums import LIST, PIECE, READ_AT_ONCE, Checksums, checksum, record_checksums

FILE = "chunks/A"


def tile(content: bytes) -> bytes:
    """Bytes with their checksum, as tiles of a shard are stored."""
    body = content * (2 * PIECE // len(content))
    return body + value(body).to_bytes(4, "little")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store of one shard of four tiles."""
    (tmp_path / "chunks").mkdir()
    (tmp_path / FILE).write_bytes(b"".join(map(tile, (b"a", b"b", b"c", b"d"))))
    record_checksums(tmp_path)
    return tmp_path


@pytest.mark.parametrize("middle", [(b"c", b"b"), (b"x", b"y")], ids=["exchanged", "replaced"])
def test_sound_tiles_in_the_middle_of_a_file_are_found_by_verify(middle: tuple[bytes, bytes], place: Path) -> None:
    before = checksum(place / FILE)
    (place / FILE).write_bytes(b"".join(map(tile, (b"a", *middle, b"d"))))
    assert checksum(place / FILE) == before  # a plain list of CRC-32C would find no change
    assert list(Checksums(place).wrong_files()) == [f"{FILE} holds other bytes than were written."]


def test_a_sound_file_has_no_finding(place: Path) -> None:
    assert list(Checksums(place).wrong_files()) == []


def test_a_list_of_an_older_headscape_is_read(place: Path) -> None:
    fingerprints = place / "fingerprints"
    seal, line, _ = fingerprints.read_text().splitlines()
    holds, stamp, _, path = line.split()
    body = f"{seal}\n{holds} {stamp} {path}\n"
    fingerprints.write_text(f"{body}{value(body.encode()):08x}\n")
    (place / FILE).write_bytes(b"".join(map(tile, (b"a", b"c", b"b", b"d"))))
    assert list(Checksums(place).wrong_files()) == []


@pytest.mark.parametrize("size", [1, PIECE, PIECE + 1, READ_AT_ONCE, READ_AT_ONCE + 1])
def test_one_look_at_a_file_gives_every_sum_of_it(size: int, tmp_path: Path) -> None:
    (tmp_path / "chunks").mkdir()
    content = bytes(number % 251 for number in range(PIECE)) * (size // PIECE + 1)
    content = content[:size]
    (tmp_path / FILE).write_bytes(content)
    record_checksums(tmp_path)
    _, line, _ = (tmp_path / "fingerprints").read_text().splitlines()
    holds, _, whole, _ = line.split()
    assert (tmp_path / LIST).read_text() == f"{value(content):08x} {FILE}\n"
    assert holds == f"{zlib.crc32(content[:PIECE] + content[-PIECE:]):08x}-{size}"
    assert whole == f"{zlib.crc32(content):08x}"
