"""Files of tables, as a client gets them."""

import gzip
import io
from collections.abc import Iterator

import numpy as np
import pytest
from flask.testing import FlaskClient
from pyarrow import parquet

from dashboard.app import create_app
from dashboard.ui.files import disposition, large_file
from dashboard.web.admission import DISCONNECTED, WaitingLine
from dashboard.web.errors import RETRY_AFTER
from dashboard.web.http import BASE
from dashboard.web.served_store import BUSY, ServedStore
from store import Corpus
from tests.client import csv_rows

TOKENS = 20
LARGE = (
    "points/pca-exact-2d/grid.csv",
    "points/pca-exact-2d/grid.parquet",
    "points/pca-exact-2d/0/1.csv",
    "selection/pca-exact-2d/0/1.parquet?q=film",
    "features/sample/tokens/points/pca-each/grid.csv",
)


def rows_of(client: FlaskClient, path: str) -> list[dict[str, str]]:
    return csv_rows(client.get(path).data)


def test_a_spreadsheet_knows_the_encoding_of_a_file(client: FlaskClient, base: str) -> None:
    assert client.get(f"{base}/statistics.csv").data.startswith(b'\xef\xbb\xbf"layer"')


def test_all_heads_are_in_one_file_each_with_all_drawn_points(
    client: FlaskClient, base: str, tiny_corpus: Corpus
) -> None:
    rows = rows_of(client, f"{base}/points/{tiny_corpus.views[0]}/grid.csv?tokens={TOKENS}")
    heads = [(int(row["layer"]), int(row["head"])) for row in rows]
    assert [heads.count(head) for head in dict.fromkeys(heads)] == [2 * TOKENS] * 4


@pytest.mark.parametrize(
    "path",
    ["points/pca-exact-2d/0/1", "statistics", "pairs/0/1", "profile/0/1", "features/sample/cka", "density/exact/0/1"],
)
def test_a_file_names_its_model_corpus_and_snapshot(
    path: str, client: FlaskClient, base: str, tiny_corpus: Corpus
) -> None:
    model, corpus, snapshot = tiny_corpus.name, tiny_corpus.attributes["corpus"], tiny_corpus.snapshot
    rows = rows_of(client, f"{base}/{path}.csv")
    assert {row["provenance"] for row in rows} == {f"{model} on {corpus}, snapshot {snapshot}"}
    answer = client.get(f"{base}/{path}.parquet")
    metadata = parquet.read_schema(io.BytesIO(answer.data)).metadata
    expected = {"model": model, "corpus": corpus, "snapshot": snapshot}
    assert {name: metadata[name.encode()].decode() for name in expected} == expected
    assert answer.headers["Content-Disposition"].endswith(f'-{model}-{snapshot}.parquet"')


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ("positive", 'filename="positive.csv"'),
        ('5" tv', 'filename="5-tv.csv"'),
        ("a\r\nX: y", 'filename="a-X-y.csv"'),
        ("Lärm", "filename=\"Larm.csv\"; filename*=UTF-8''L%C3%A4rm.csv"),
        ("肯定", "filename=\".csv\"; filename*=UTF-8''%E8%82%AF%E5%AE%9A.csv"),
    ],
)
def test_a_file_is_named_after_a_label_in_any_script(label: str, written: str) -> None:
    assert disposition(f"{label}.csv") == f"attachment; {written}"


def test_a_head_in_the_file_of_all_is_as_in_its_own(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    view = tiny_corpus.views[0]
    every = rows_of(client, f"{base}/points/{view}/grid.csv?tokens={TOKENS}")
    own = rows_of(client, f"{base}/points/{view}/1/0.csv?tokens={TOKENS}")
    rows = [row for row in every if (row.pop("layer"), row.pop("head")) == ("1", "0")]
    assert rows == own


def test_pairs_are_those_of_the_store(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/pairs/1/0.csv")
    stored = tiny_corpus.pairs.isel(layer=1, head=0).load()
    there = stored.query_token.values >= 0
    np.testing.assert_allclose([float(row["logit"]) for row in rows], stored.logit.values[there], rtol=1e-6)
    assert [int(tiny_corpus.rows[int(row["key_token"])]) for row in rows] == stored.key_token.values[there].tolist()


def test_statistics_are_those_of_the_store(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    table = parquet.read_table(io.BytesIO(client.get(f"{base}/statistics/0/1.parquet").data)).to_pylist()
    means = tiny_corpus.head_statistic[:, :, 0, 1]
    for row in table:
        expected = float(means.sel(source=row["source"], statistic=row["statistic"]))
        np.testing.assert_equal(row["mean"], expected)


def test_densities_count_every_pair(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/density/exact/1/1.csv")
    sizes = tiny_corpus.sentences.row_size.values.astype(int)
    assert sum(int(row["pairs"]) for row in rows) == (sizes**2).sum()


def test_an_unknown_head_is_not_found(client: FlaskClient, base: str) -> None:
    response = client.get(f"{base}/pairs/9/9.csv")
    assert (response.status_code, response.get_data(as_text=True)[:23]) == (404, "There is no head L9 H9.")


def test_a_file_on_disk_is_the_same_as_in_memory(client: FlaskClient, base: str, tiny_store: str) -> None:
    path = f"{base}/points/pca-exact-2d/0/1.csv"
    whole = client.get(path).data
    client = create_app(ServedStore(tiny_store, file_memory=0)).server.test_client()
    with client.get(path, headers={"Accept-Encoding": "gzip"}) as answer:
        assert gzip.decompress(answer.data) == whole
        assert answer.content_length == len(answer.data)
    with client.get(path) as answer:
        assert (answer.data, answer.content_length) == (whole, len(whole))


def test_one_file_of_points_is_made_at_a_time(base: str, tiny_store: str) -> None:
    turns = WaitingLine(0, BUSY)
    client = create_app(ServedStore(tiny_store, files=turns)).server.test_client()
    with turns.turn(lambda: False):
        answers = [client.get(f"{base}/{path}?uncached") for path in LARGE]
        small = client.get(f"{base}/pairs/0/1.csv")
    assert [(answer.status_code, answer.text) for answer in answers] == [(503, BUSY)] * len(LARGE)
    assert {answer.headers["Retry-After"] for answer in answers} == {str(RETRY_AFTER)}
    assert small.status_code == 200


def test_a_file_is_not_finished_for_a_reader_who_leaves(tiny_store: str, base: str) -> None:
    parts: list[int] = []

    def tables() -> Iterator[dict[str, np.ndarray]]:
        for number in range(10):
            parts.append(number)
            yield {"token": np.arange(3)}

    left = {DISCONNECTED: lambda: len(parts) > 2}
    server = create_app(ServedStore(tiny_store)).server
    server.add_url_rule(f"{BASE}/ten.csv", view_func=lambda snapshot, model: large_file(tables(), "ten", "csv"))  # noqa: ARG005
    assert server.test_client().get(f"{base}/ten.csv", environ_overrides=left).status_code == 499
    assert parts == [0, 1, 2]
