"""Cached responses: bounded, whole, of their snapshot, and private to the server."""

import stat
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.web.http import ResponseCache, data_link
from dashboard.web.processes import server_folder
from dashboard.web.results import DiskCache
from dashboard.web.served_store import ServedStore
from store import open_corpus
from tests.people import NAMED, with_people
from tests.test_waiting_pages import DuringAnIngest

BUDGET = 1 << 20
#: A script that fills a cache in a separate process, which need not import this module.
FILL = f"""
import sys
from io import BytesIO
from pathlib import Path
from dashboard.web.results import DiskCache
cache = DiskCache(Path(sys.argv[1]), {BUDGET})
for number in range(100):
    cache.add(f"{{sys.argv[2]}} {{number}}", b"text", BytesIO(bytes(40_000)))
"""


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def _content(cache: DiskCache, key: str) -> bytes | None:
    entry = cache.find(key)
    if entry is None:
        return None
    with entry[1] as file:
        return file.read()


@pytest.mark.slow
@pytest.mark.heavy
def test_an_entry_is_found_by_another_process(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FILL, str(tmp_path), "other"], check=True)
    assert _content(DiskCache(tmp_path, BUDGET), "other 99") == bytes(40_000)


def test_two_caches_of_one_folder_stay_within_the_budget(tmp_path: Path) -> None:
    one, other = DiskCache(tmp_path, BUDGET), DiskCache(tmp_path, BUDGET)
    for number in range(200):
        for name, cache in (("one", one), ("other", other)):
            cache.add(f"{name} {number}", b"", BytesIO(bytes(9_000)))
            assert _size(tmp_path) <= BUDGET


def test_the_entry_used_last_stays(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, BUDGET)
    cache.add("used", b"", BytesIO(b"content"))
    for number in range(200):
        cache.add(f"{number}", b"", BytesIO(bytes(40_000)))
        assert _content(cache, "used") == b"content"
    assert _content(cache, "0") is None


def test_an_entry_larger_than_a_quarter_of_the_budget_is_not_kept(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, BUDGET)
    cache.add("large", b"", BytesIO(bytes(BUDGET // 4)))
    assert _content(cache, "large") is None


@pytest.mark.parametrize("content", [b"", b"\0" * 8, b"\0" * 5000])
def test_a_damaged_file_is_no_entry_and_is_deleted(tmp_path: Path, content: bytes) -> None:
    cache = DiskCache(tmp_path, BUDGET)
    cache.add("key", b"text", BytesIO(b"content" * 100))
    (file,) = tmp_path.iterdir()
    file.write_bytes(content or file.read_bytes()[:-1] + b"x")
    assert cache.find("key") is None
    assert not file.exists()


def test_a_part_of_a_process_that_was_killed_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(bytes(BUDGET // 2))
    cache = DiskCache(tmp_path, BUDGET)
    for number in range(100):
        cache.add(f"own {number}", b"text", BytesIO(bytes(40_000)))
    assert not (tmp_path / "part").exists()


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    DiskCache(tmp_path / "file" / "responses", BUDGET).add("key", b"", BytesIO(b"content"))


@pytest.fixture
def client(tiny_store: str, tmp_path: Path) -> FlaskClient:
    """A client of a server that caches every response, even a fast one."""
    return caching_client(ServedStore(tiny_store, tmp_path), tmp_path)


def caching_client(served_store: ServedStore, tmp_path: Path) -> FlaskClient:
    served_store.put(ResponseCache, ResponseCache(DiskCache(tmp_path / "responses", BUDGET), least_seconds=0))
    client: FlaskClient = create_app(served_store).server.test_client()
    return client


@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize("name", ["points/{view}/grid.parquet", "points/{view}/0/0.csv", "token/0/0/query/1.json"])
def test_a_cached_response_is_the_first_one(
    client: FlaskClient, tiny_store: str, tmp_path: Path, name: str, encoding: str
) -> None:
    corpus = open_corpus(tiny_store)
    url = f"{data_link(corpus)}/{name.format(view=corpus.views[0])}"
    first, second = (client.get(url, headers={"Accept-Encoding": encoding}) for _ in range(2))
    assert len(list((tmp_path / "responses").iterdir())) == 1
    assert (first.status_code, first.data) == (second.status_code, second.data)
    own = {"X-Request-ID": "", "Date": ""}
    assert dict(first.headers) | own == dict(second.headers) | own


@pytest.mark.parametrize(
    "fields", ["?x=1", "?tokens=5&tokens=6", "?tokens=05", "?tokens=99999999", "?tokens=many", "?lines=point"]
)
def test_a_link_that_no_page_writes_adds_no_entry(
    client: FlaskClient, tiny_store: str, tmp_path: Path, fields: str
) -> None:
    corpus = open_corpus(tiny_store)
    assert client.get(f"{data_link(corpus)}/points/{corpus.views[0]}/grid.bin{fields}").status_code == 200
    assert not (tmp_path / "responses").exists()


def test_two_spellings_of_a_link_are_one_entry(client: FlaskClient, tiny_store: str, tmp_path: Path) -> None:
    corpus = open_corpus(tiny_store)
    base = f"{data_link(corpus)}/raster/{corpus.views[0]}"
    links = ["0/1.png?side=50&gap=2", "0/1.png?gap=2&side=50", "00/01.png?side=50&gap=2"]
    assert len({client.get(f"{base}/{link}").data for link in links}) == 1
    assert len(list((tmp_path / "responses").iterdir())) == 1


def test_errors_are_not_cached(client: FlaskClient, tiny_store: str, tmp_path: Path) -> None:
    base = data_link(open_corpus(tiny_store))
    assert client.get(f"{base}/token/99/0/query/1.json").status_code == 404
    assert not (tmp_path / "responses").exists()


def _page(client: FlaskClient, pathname: str, search: str = "") -> bytes:
    answer = client.post("/data/page", data={"pathname": pathname, "search": search})
    assert answer.status_code == 200
    return answer.data


def test_a_page_is_cached_for_its_link(client: FlaskClient, tmp_path: Path) -> None:
    pages = [_page(client, "/map", search) for search in ("?layer=0&head=0", "?layer=0&head=1") for _ in range(2)]
    assert len(list((tmp_path / "responses").iterdir())) == 2
    assert pages[0] == pages[1] != pages[2] == pages[3]


def test_a_page_of_a_link_that_no_page_writes_is_not_cached(client: FlaskClient, tmp_path: Path) -> None:
    for search in ("?x=1", "?layer=00", "?layer=0&layer=1", "?layer=99", "?model=none"):
        _page(client, "/map", search)
        assert not (tmp_path / "responses").exists(), search
    _page(client, "/map/", "?layer=1")
    assert not (tmp_path / "responses").exists()


def test_a_page_that_completes_a_bare_link_is_cached(client: FlaskClient, tmp_path: Path) -> None:
    assert _page(client, "/map") == _page(client, "/map")
    assert len(list((tmp_path / "responses").iterdir())) == 1


@pytest.mark.parametrize("pathname", ["/store", "/notes", "/server"])
def test_a_page_that_depends_on_more_than_its_link_is_not_cached(
    pathname: str, client: FlaskClient, tmp_path: Path
) -> None:
    _page(client, pathname)
    assert not (tmp_path / "responses").exists()


def test_a_page_that_waits_for_its_own_job_is_not_cached(client: FlaskClient, tmp_path: Path) -> None:
    assert _page(client, "/") != _page(client, "/")
    assert not (tmp_path / "responses").exists()


def test_a_page_of_authors_is_not_that_of_readers(client: FlaskClient) -> None:
    with_people(client.application)
    pages = [
        client.post("/data/page", data={"pathname": "/map"}, headers={NAMED: role}).data
        for role in ("author", "reader")
    ]
    assert b'"data-letter":"v"' in pages[0]
    assert b'"data-letter":"v"' not in pages[1]


def test_while_an_ingest_runs_no_page_is_cached(tiny_store: str, tmp_path: Path) -> None:
    _page(caching_client(DuringAnIngest(tiny_store, tmp_path), tmp_path), "/map")
    assert not (tmp_path / "responses").exists()


def test_a_cached_response_of_a_deleted_snapshot_is_not_found(client: FlaskClient, tiny_store: str) -> None:
    corpus = open_corpus(tiny_store)
    url = f"{data_link(corpus)}/token/0/0/query/1.json"
    assert client.get(url).status_code == 200
    assert client.get(url.replace(corpus.snapshot, "0" * len(corpus.snapshot))).status_code == 404


def test_nobody_else_can_read_the_folder() -> None:
    with server_folder() as folder:
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
