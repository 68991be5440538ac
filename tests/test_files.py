"""Files behind the links beside a picture, as a client gets them."""

import csv
import io

import numpy as np
from flask.testing import FlaskClient
from pyarrow import parquet

from store import Corpus

TOKENS = 20


def rows_of(client: FlaskClient, path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(path).get_data(as_text=True), newline="")))


def test_all_heads_are_in_one_file_each_with_all_drawn_points(
    client: FlaskClient, base: str, tiny_corpus: Corpus
) -> None:
    rows = rows_of(client, f"{base}/points/{tiny_corpus.views[0]}/grid.csv?tokens={TOKENS}")
    heads = [(int(row["layer"]), int(row["head"])) for row in rows]
    assert [heads.count(head) for head in dict.fromkeys(heads)] == [2 * TOKENS] * 4


def test_a_head_in_the_file_of_all_is_as_in_its_own(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    view = tiny_corpus.views[0]
    every = rows_of(client, f"{base}/points/{view}/grid.csv?tokens={TOKENS}")
    own = rows_of(client, f"{base}/points/{view}/1/0.csv?tokens={TOKENS}")
    found = [row for row in every if (row.pop("layer"), row.pop("head")) == ("1", "0")]
    assert found == own


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


def test_a_head_that_is_not_there_is_said(client: FlaskClient, base: str) -> None:
    response = client.get(f"{base}/pairs/9/9.csv")
    assert (response.status_code, response.get_data(as_text=True)[:23]) == (404, "There is no head L9 H9;")
