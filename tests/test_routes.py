"""Answers of the server: versioned bytes, and one sentence where the data are missing."""

import gzip
import re

import numpy as np
import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.app import create_app
from dashboard.points.head_tokens import columns
from dashboard.web.http import FORMAT
from dashboard.web.served_store import ServedStore
from store import Corpus


def test_points_may_be_kept_for_ever(client: FlaskClient, base: str) -> None:
    answer = client.get(f"{base}/points/pca-exact-2d/grid.bin?tokens=20")
    assert answer.status_code == 200
    assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    ("version", "immutable"), [("?m={}", True), ("?m=older", False), ("?m=1.5", False), ("", False)]
)
@pytest.mark.parametrize("path", ["/assets/web/chart.mjs", "/assets/early_page.js", "/assets/style.css"])
def test_an_asset_is_cached_for_good_only_under_its_present_version(
    client: FlaskClient, path: str, version: str, immutable: bool
) -> None:
    (present,) = set(re.findall(rf"{path}\?m=([\w.]+)", client.get("/").text))
    answer = client.get(path + version.format(present))
    assert (answer.status_code, "immutable" in answer.headers["Cache-Control"]) == (200, immutable)
    answer.close()


def test_no_request_grows_with_the_corpus_beyond_what_is_asked(client: FlaskClient, base: str) -> None:
    answer = client.get(f"{base}/points/pca-exact-2d/1/0.bin?tokens=20")
    assert len(answer.data) == 24 + 20 * 2 * 2 * 2


def test_colours_of_every_column_can_be_had(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    for name, column in columns(tiny_corpus).items():
        single = client.get(f"{base}/colours/{name}/1/0.bin?tokens=20")
        every = client.get(f"{base}/colours/{name}/grid.bin?tokens=20")
        assert (len(single.data), len(every.data)) == (16 + 40, 16 + 40 * (4 if column.per_head else 1)), name


def test_a_mask_selects_what_the_query_string_says(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    answer = client.get(f"{base}/mask/1/0.bin?tokens=20&q=%5Bcls%5D&where=role:key;position:0..0")
    bits = np.unpackbits(np.frombuffer(answer.data[16:], np.uint8))[:40].reshape(20, 2)
    is_cls = tiny_corpus.tokens.position.values[tiny_corpus.rows[:20]] == 0
    np.testing.assert_array_equal(bits, np.stack([np.zeros(20), is_cls], axis=-1))


def test_colours_are_compressed_for_who_can_read_it(client: FlaskClient, base: str) -> None:
    path = f"{base}/colours/norm/grid.bin?tokens=2000"
    packed, plain = (client.get(path, headers={"Accept-Encoding": how}) for how in ("gzip", "identity"))
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(packed.data) == plain.data


def test_labels_name_every_token(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    tokens = client.get(f"{base}/tokens.json?tokens=30").json
    assert [tokens["pieces"][number] for number in tokens["ids"]] == tiny_corpus.wordpieces(tiny_corpus.rows[:30])


def test_a_focus_is_bounded(client: FlaskClient, base: str) -> None:
    focus = client.get(f"{base}/focus/pca-exact-2d/1/0/query/3.json?top=99999&least=0&near=99999&lines=sentence").json
    assert len(focus["lines"]) <= len(focus["pieces"]) * 20
    assert len(focus["near"]) <= 50


@pytest.mark.parametrize("what", ["points", "selection"])
def test_a_file_is_to_be_saved_under_its_name(client: FlaskClient, base: str, what: str) -> None:
    for form in ("csv", "parquet"):
        answer = client.get(f"{base}/{what}/pca-exact-2d/1/0.{form}?tokens=10&q=film")
        assert answer.headers["Content-Disposition"].startswith(f'attachment; filename="{what}-pca-exact-2d-L1-H0-')
        assert len(answer.data) > 50


@pytest.mark.parametrize(
    "path",
    [
        "/points/pca-exact-2d/9/0.bin",
        "/points/pca-exact-2d/9/0.csv",
        "/points/nonsense/0/0.csv",
        "/points/nonsense/grid.bin",
        "/selection/nonsense/0/0.parquet",
        "/contours/nonsense/0/0.json",
        "/contours/pca-exact-2d/0/0.json?pinned=9-9",
        "/clusters/pca-exact-2d/9/0.json",
        "/colours/nonsense/grid.bin",
        "/colours/nonsense/0/0.bin",
        "/colours/norm/9/9.bin",
        "/mask/0/9.bin",
        "/focus/nonsense/0/0/query/0.json",
        "/focus/pca-exact-2d/9/0/query/0.json",
        "/focus/pca-exact-2d/0/0/key/99999999.json",
        "/token/0/9/query/0.json",
        "/token/0/0/query/99999999.json",
        "/raster/pca-exact-2d/0/77.png",
        "/profile/9/0.csv",
        "/statistics.csv?source=nonsense",
    ],
)
def test_a_missing_file_answers_in_one_sentence(client: FlaskClient, base: str, path: str) -> None:
    answer = client.get(base + path)
    assert answer.status_code == 404
    assert "\n" not in answer.text.strip()
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("snapshot", ["AAAAAAAAAAAAAAAAAAAA", "..", "%00", "main"])
def test_an_unknown_snapshot_is_not_found(client: FlaskClient, snapshot: str) -> None:
    assert client.get(f"/data/{FORMAT}/{snapshot}/model/points/pca-exact-2d/grid.bin").status_code == 404


@pytest.mark.parametrize(
    "query", ["tokens=-5", "tokens=abc", "tokens=1e9", "tokens=99999999999999", "tokens=%FF", "side=100000&gap=-1"]
)
def test_hostile_numbers_are_brought_into_bounds(client: FlaskClient, base: str, query: str) -> None:
    for path in PATHS:
        assert client.get(f"{base}{path}?{query}").status_code == 200


PATHS = [
    "/points/pca-exact-2d/grid.bin",
    "/points/pca-exact-2d/0/0.bin",
    "/raster/pca-exact-2d/0/0.png",
    "/raster/pca-exact-2d/grid.png",
    "/colours/label/grid.bin",
    "/colours/norm/0/0.bin",
    "/mask/grid.bin",
    "/mask/1/1.bin",
    "/tokens.json",
    "/focus/pca-exact-2d/0/0/query/0.json",
    "/selection/pca-exact-2d/1/0.csv",
    "/statistics.csv",
]
FIELDS = ["tokens", "side", "gap", "q", "in", "where", "lasso", "top", "least", "lines", "near", "scheme", "within"]
hostile = st.text(max_size=30) | st.sampled_from(
    ["-1", "1e400", "nan", "inf", "0", "norm:1..inf", "kind:|", "norm:..;", "pca-exact-2d,0,0,0,0", "²", "٣", "%00"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PATHS), fields=st.dictionaries(st.sampled_from(FIELDS), hostile, max_size=4))
def test_no_query_string_breaks_a_route(client: FlaskClient, base: str, path: str, fields: dict[str, str]) -> None:
    assert client.get(base + path, query_string=fields).status_code == 200


def test_scripts_come_only_from_this_server(client: FlaskClient) -> None:
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy


def test_inline_scripts_run_by_their_hashes_alone_and_styles_by_any(client: FlaskClient) -> None:
    directives = (part.split() for part in client.get("/").headers["Content-Security-Policy"].split("; "))
    policy = {name: sources for name, *sources in directives}
    assert {source for source in policy["script-src"] if not source.startswith("'sha256-")} == {"'self'"}
    assert policy["style-src"] == ["'self'", "'unsafe-inline'"]  # style elements of Mantine and plotly


def test_the_first_requests_find_every_script_registered(tiny_store: str) -> None:
    app = create_app(ServedStore(tiny_store))
    assert app._got_first_request["setup_server"]


def test_a_font_that_is_not_there_is_answered_with_a_sentence(client: FlaskClient) -> None:
    answer = client.get("/fonts/Roboto-Thin.woff2")
    assert answer.status_code == 404
    assert "There is no font Roboto-Thin.woff2. There are Roboto-Regular.woff2" in answer.text
