"""Files with the numbers of every head, as a client gets them, against the store."""

import io
from itertools import combinations, product

import numpy as np
import pytest
from flask.testing import FlaskClient
from pyarrow import parquet

from dashboard.statistics.parts import part_labels, part_of
from dashboard.statistics.routes import heads_table
from store import STATISTICS, Corpus
from store.schema.model import varying_statistics
from tests.client import csv_rows, typed_like, without_nan
from tests.counts import counted

Rows = list[dict[str, str]]
WORDS = "kind:word;position:..6"


def rows_of(client: FlaskClient, path: str) -> Rows:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return csv_rows(answer.data)


def numbers(rows: Rows, name: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.array([float(row[name]) for row in rows]).reshape(shape)


# -- all heads ------------------------------------------------------------------------------------------


def test_every_head_is_in_the_file_once_with_its_name_and_label(
    client: FlaskClient, base: str, tiny_corpus: Corpus
) -> None:
    rows = rows_of(client, f"{base}/statistics.csv")
    heads = list(product(range(tiny_corpus.layers), range(tiny_corpus.heads)))
    assert [(int(row["layer"]), int(row["head"])) for row in rows] == heads
    assert [row["name"] for row in rows] == [f"L{layer} H{head}" for layer, head in heads]
    assert [row["label"] for row in rows] == [str(tiny_corpus.head_labels[head].item()) for head in heads]


@pytest.mark.parametrize("source", ["all", "cls", "word"])
def test_statistics_of_the_whole_corpus_are_those_of_the_store(
    client: FlaskClient, base: str, tiny_corpus: Corpus, source: str
) -> None:
    rows = rows_of(client, f"{base}/statistics.csv?source={source}")
    for name in varying_statistics(source):
        expected = tiny_corpus.head_statistic.sel(source=source, statistic=name)
        np.testing.assert_allclose(numbers(rows, name, expected.shape), expected, err_msg=name)


def test_statistics_of_a_part_are_those_of_its_tokens(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/statistics.csv?where={WORDS}&q=film&within=phrase&source=word")
    means = counted(tiny_corpus, part_of(tiny_corpus, WORDS, q="film", within="phrase")).means.sel(source="word")
    for name in STATISTICS:
        np.testing.assert_allclose(numbers(rows, name, means.shape[1:]), means.sel(statistic=name), err_msg=name)


@pytest.mark.parametrize(("source", "there"), [("all", False), ("other", True), ("cls", True)])
def test_attention_received_over_all_queries_is_in_no_file(
    client: FlaskClient, base: str, source: str, there: bool
) -> None:
    names = rows_of(client, f"{base}/statistics.csv?source={source}")[0].keys()
    assert ({"received", "received_rank"} <= names) == there
    assert ("received" in names) == there


def test_labels_of_a_part_are_those_of_its_tokens(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    part = part_of(tiny_corpus, "position:0..0")
    labels = part_labels(tiny_corpus, part, counted(tiny_corpus, part).means).values.ravel().tolist()
    rows = rows_of(client, f"{base}/statistics.csv?where=position:0..0")
    assert [row["label"] for row in rows] == labels != tiny_corpus.head_labels.values.ravel().tolist()


def test_head_importance_is_a_column(tiny_corpus: Corpus) -> None:
    change = np.array([[0.5, -0.25], [0, 1]])
    table = heads_table(tiny_corpus.head_statistic.sel(source="all"), tiny_corpus.head_labels, change)
    assert table["importance"].tolist() == [0.5, -0.25, 0, 1]
    assert table["importance_rank"].tolist() == [2, 4, 3, 1]


def test_the_head_with_the_most_has_rank_1(client: FlaskClient, base: str) -> None:
    rows = rows_of(client, f"{base}/statistics.csv")
    for name in varying_statistics("all"):
        own = [float(row[name]) for row in rows]
        assert [int(float(row[f"{name}_rank"])) for row in rows] == [
            1 + sorted(own)[::-1].index(value) for value in own
        ]


def test_a_part_without_tokens_is_a_file_without_numbers(client: FlaskClient, base: str) -> None:
    rows = rows_of(client, f"{base}/statistics.csv?where=position:9999..")
    assert {row["to_sep"] for row in rows} | {row["to_sep_rank"] for row in rows} == {"nan"}


def test_an_unknown_source_is_refused(client: FlaskClient, base: str) -> None:
    answer = client.get(f"{base}/statistics.csv?source=verbs")
    assert (answer.status_code, answer.text) == (
        404,
        "There are no means over the queries “verbs”. Choose one of all, cls, sep, punctuation, word, other.",
    )


# -- heads beside heads ---------------------------------------------------------------------------------


def test_each_two_heads_have_their_divergence_once(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/divergence.csv")
    heads = list(product(range(tiny_corpus.layers), range(tiny_corpus.heads)))
    divergence = tiny_corpus.divergence
    for row, (head, other) in zip(rows, combinations(heads, 2), strict=True):
        assert (row["name"], row["other_name"]) == ("L{} H{}".format(*head), "L{} H{}".format(*other))
        expected = float(divergence["divergence"].values[*head, *other]) / divergence.attrs["tokens"]
        assert float(row["divergence"]) == pytest.approx(expected)


def test_every_head_has_its_place_on_the_map(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/map.csv")
    places = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    np.testing.assert_allclose(places, tiny_corpus.divergence["place"].values.reshape(-1, 2))


# -- one head, and the layers ---------------------------------------------------------------------------


def test_a_profile_shares_out_all_the_weight(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/profile/1/0.csv")
    assert [int(row["offset"]) for row in rows] == list(range(-11, 12))
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1)
    np.testing.assert_allclose(numbers(rows, "share", (23,)), tiny_corpus.head_profile[:, 1, 0])


def test_received_is_given_for_every_position_that_occurs(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/received/0/1.csv")
    sizes = tiny_corpus.sentences.row_size.values
    assert [int(row["sentences"]) for row in rows] == [int((sizes > at).sum()) for at in range(sizes.max())]
    np.testing.assert_allclose(
        numbers(rows, "received", (len(rows),)), tiny_corpus.received_at[: len(rows), 0, 1], equal_nan=False
    )


def test_every_mixing_ratio_of_every_layer_is_there(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/mixing.csv")
    mixing = tiny_corpus.layer_mixing
    assert len(rows) == mixing.size
    for row in rows:
        expected = mixing.sel(source=row["source"], ratio=row["ratio"], layer=int(row["layer"]))
        assert float(row["share"]) == pytest.approx(float(expected))


def test_mixing_of_a_part_is_that_of_its_tokens(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    mixing = counted(tiny_corpus, part_of(tiny_corpus, WORDS)).mixing
    for row in rows_of(client, f"{base}/mixing.csv?where={WORDS}"):
        expected = mixing.sel(source=row["source"], ratio=row["ratio"], layer=int(row["layer"]))
        assert float(row["share"]) == pytest.approx(float(expected), nan_ok=True)


def test_every_layer_has_its_expansion_rate(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/expansion.csv")
    np.testing.assert_allclose(numbers(rows, "rate", (tiny_corpus.layers,)), tiny_corpus.expansion_rate)


def test_the_heat_map_is_a_file_of_ranks(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/heat-map.csv?statistic=entropy&source=cls&values=rank")
    entropy = tiny_corpus.head_statistic.sel(source="cls", statistic="entropy").values
    assert [float(row["rank"]) for row in rows] == [1 + (entropy > value).sum() for value in entropy.ravel()]


def test_the_heat_map_is_a_file_of_differences(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = rows_of(client, f"{base}/heat-map.csv?statistic=to_cls&values=difference&against=to_sep&where={WORDS}")
    means = counted(tiny_corpus, part_of(tiny_corpus, WORDS)).means.sel(source="all")
    less = means.sel(statistic="to_cls") - means.sel(statistic="to_sep")
    np.testing.assert_allclose(numbers(rows, "difference", less.shape), less)


def test_a_mean_of_a_head_comes_with_its_interval(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    for row in rows_of(client, f"{base}/statistics/1/0.csv"):
        own = tiny_corpus.head_interval.sel(source=row["source"], statistic=row["statistic"], layer=1, head=0)
        np.testing.assert_allclose([float(row["low"]), float(row["high"])], own)


@pytest.mark.parametrize("what", ["profile", "received"])
def test_an_unknown_head_is_refused(client: FlaskClient, base: str, what: str) -> None:
    answer = client.get(f"{base}/{what}/9/9.csv")
    assert (answer.status_code, answer.text[:23]) == (404, "There is no head L9 H9.")


# -- forms ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "statistics",
        "divergence",
        "map",
        "mixing",
        "expansion",
        "heat-map",
        "profile/1/0",
        "received/1/0",
        "statistics/1/0",
    ],
)
def test_both_forms_hold_the_same(client: FlaskClient, base: str, path: str) -> None:
    rows = rows_of(client, f"{base}/{path}.csv")
    table = parquet.read_table(io.BytesIO(client.get(f"{base}/{path}.parquet").data)).to_pylist()
    assert all(row.pop("provenance") for row in rows)  # Parquet has it in its metadata
    assert typed_like(rows, table) == without_nan(table)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("statistics.csv", "statistics-all.csv"),
        ("statistics.parquet?source=cls", "statistics-cls.parquet"),
        (f"statistics.csv?where={WORDS}", "statistics-all-part.csv"),
        (f"mixing.csv?where={WORDS}", "mixing-part.csv"),
        ("heat-map.csv?statistic=entropy&values=rank", "rank-entropy-all.csv"),
        ("heat-map.csv?statistic=entropy&values=difference", "value-entropy-all.csv"),
        ("divergence.csv", "divergence.csv"),
        ("profile/1/0.csv", "profile-L1-H0.csv"),
    ],
)
def test_a_file_says_in_its_name_what_it_holds(
    client: FlaskClient, base: str, path: str, name: str, tiny_corpus: Corpus
) -> None:
    disposition = client.get(f"{base}/{path}").headers["Content-Disposition"]
    stem, ending = name.split(".")
    assert disposition == f'attachment; filename="{stem}-{tiny_corpus.name}-{tiny_corpus.snapshot}.{ending}"'
