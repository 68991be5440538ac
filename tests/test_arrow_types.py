"""Columns of every Arrow type: text, labels, categories, or left out with a reason; none ends an ingest."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.run.errors import IngestError
from ingest.text.columns import column_codes, find_columns, label_column
from ingest.text.reviews import find_data, read_reviews
from ingest.text.table import Table

ROWS = 4
ZONES = (None, "UTC", "Asia/Tokyo", "America/New_York", "-11:30", "+25:00", "Mars/Phobos")
INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
DECIMALS = [pa.decimal32(5, 2), pa.decimal64(12), pa.decimal128(38, -5), pa.decimal128(38, 38), pa.decimal256(76, 3)]
TIMES = [pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.duration("s")]
TIMESTAMPS = [*(pa.timestamp(unit) for unit in ("s", "ms", "ns")), *(pa.timestamp("us", zone) for zone in ZONES)]
#: Types of a fixed number of bits: any bits are a value.
FIXED = [*INTEGERS, pa.float16(), pa.float32(), pa.float64(), *DECIMALS, *TIMES, *TIMESTAMPS, pa.month_day_nano_interval()]  # fmt: skip
STRINGS = [pa.string(), pa.large_string(), pa.string_view()]
BYTES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3)]
LISTS = [pa.list_(pa.string()), pa.large_list(pa.int8()), pa.list_view(pa.string()), pa.large_list_view(pa.int8()), pa.list_(pa.int8(), 2)]  # fmt: skip
FIELDS = [pa.field("a", pa.string()), pa.field("b", pa.int8())]
NESTED = [*LISTS, pa.struct(FIELDS), pa.map_(pa.string(), pa.int8()), pa.dense_union(FIELDS), pa.sparse_union(FIELDS)]
EXTENSIONS = [pa.uuid(), pa.json_(), pa.bool8(), pa.opaque(pa.string(), "a", "b"), pa.fixed_shape_tensor(pa.int8(), [2])]  # fmt: skip
ENCODED = [pa.dictionary(pa.int32(), kind) for kind in (*STRINGS, pa.int64(), pa.date32(), pa.timestamp("us", "Mars/Phobos"))]  # fmt: skip
RUNS = [pa.run_end_encoded(pa.int32(), kind) for kind in (pa.string(), pa.string_view(), pa.int8())]
TYPES = [pa.null(), pa.bool_(), *FIXED, *STRINGS, *BYTES, *NESTED, *EXTENSIONS, *ENCODED, *RUNS]
#: Types of other languages, which pyarrow cannot make.
ELSEWHERE = {pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME}


def column_of(kind: pa.DataType, content: bytes) -> pa.Array:
    """Four values of a type, made of these 128 bytes; four nulls where the type is refused before its values are read."""
    if kind in FIXED:
        return pa.Array.from_buffers(kind, ROWS, [None, pa.py_buffer(content)])
    parts = pa.array([content[start : start + 3] for start in range(0, 3 * ROWS, 3)], pa.binary())
    if kind in STRINGS or kind in BYTES:
        other = (
            pa.large_binary()
            if kind == pa.large_string()
            else pa.binary_view()
            if kind == pa.string_view()
            else pa.binary()
        )
        return parts.cast(other).view(kind) if kind in STRINGS else parts.cast(kind)
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            pa.array([0, 1, None, 1], pa.int32()), column_of(kind.value_type, content)
        )
    return pa.array([True, False, None, True]) if kind == pa.bool_() else pa.nulls(ROWS, kind)


def examples(kind: pa.DataType) -> int:
    """Number of examples of a type: one where its values make no difference."""
    return 8 if kind in FIXED or kind in STRINGS or kind in ENCODED else 1


def in_parquet(table: pa.Table) -> bytes | None:
    """Bytes of a Parquet file of the table; None where Parquet lacks one of its types."""
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink)
    except (pa.ArrowException, OSError):
        return None
    return sink.getvalue()


@pytest.mark.parametrize("kind", STRINGS, ids=str)
def test_a_text_that_is_not_utf8_is_named_by_its_row_whoever_reads_it(kind: pa.DataType, tmp_path: Path) -> None:
    texts = column_of(kind, b"abcd\xe9fghijkl".ljust(128, b"m"))
    pq.write_table(pa.table({"text": texts}), tmp_path / "latin.parquet")
    reviews = read_reviews(find_data(str(tmp_path / "latin.parquet")), text="text", label="label")
    for reading in (lambda: list(reviews), lambda: list(reviews.some_texts(ROWS)), lambda: reviews[1]):
        with pytest.raises(IngestError, match=r"^Row 2 of the column 'text' is not UTF-8\. Save it as UTF-8 text\.$"):
            reading()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("types") / "types.parquet"


def test_every_arrow_type_is_tried() -> None:
    ids = {value for name, value in vars(pa.lib).items() if name.startswith("Type_")}
    assert {kind.id for kind in TYPES} | ELSEWHERE >= ids


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_column_of_any_type_is_categories_or_left_out(kind: pa.DataType, path: Path) -> None:
    @settings(max_examples=examples(kind))
    @given(content=st.binary(min_size=32 * ROWS, max_size=32 * ROWS))
    def check(content: bytes) -> None:
        values = column_of(kind, content)
        table = pa.table({"text": pa.array(["a"] * ROWS), "column": values})
        is_categories_or_left_out(Table.of(table))
        if (file := in_parquet(table)) is not None:
            path.write_bytes(file)
            assert [review.text for review in read_reviews(find_data(str(path)), text="text", label="none")] == [
                "a"
            ] * ROWS

    check()


def is_categories_or_left_out(table: Table) -> None:
    found = find_columns(table, besides=("text",))
    for column in found.categorical:
        assert "column" not in found.left_out
        assert set(column_codes(table, column, np.arange(ROWS))) - {-1} == set(range(len(column.names)))
    try:
        labels = label_column(table, "column")
    except ValueError as error:
        reason: str | None = str(error)
    else:
        reason = None
        assert labels is None or labels.names
    assert reason == (f"it holds {found.left_out['column']}" if found.left_out else None)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_texts_of_any_type_are_read_or_refused(kind: pa.DataType, path: Path) -> None:
    @settings(max_examples=examples(kind))
    @given(content=st.binary(min_size=32 * ROWS, max_size=32 * ROWS))
    def check(content: bytes) -> None:
        file = in_parquet(pa.table({"text": column_of(kind, content)}))
        if file is not None:
            path.write_bytes(file)
            texts_or_refusal(path)

    check()


def texts_or_refusal(path: Path) -> None:
    message = "Save it as UTF-8 text."
    try:
        reviews = read_reviews(find_data(str(path)), text="text", label="none")
        assert all(isinstance(review.text, str) for review in reviews)
    except IngestError as error:
        message = str(error)
    assert message.endswith(("Name the text column with --text=...", "Save it as UTF-8 text."))


# -- single kinds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (pa.array(["b", "a"] * 2, pa.string_view()), ["a", "b"]),
        (pa.DictionaryArray.from_arrays([0, 1, None, 0], pa.array(["b", "a"], pa.string_view())), ["a", "b"]),
        (pa.array([2, 1] * 2, pa.float16()), ["1", "2"]),
        (pa.Array.from_buffers(pa.decimal32(5, 1), 2, [None, pa.py_buffer(b"\x14\0\0\0\x0a\0\0\0")]), ["1", "2"]),
        (pa.array([10**50, 1], pa.decimal256(60, 0)), ["1", f"1{'0' * 50}"]),
    ],
)  # fmt: skip
def test_types_that_arrow_does_not_count_are_categories(values: pa.Array, names: list[str]) -> None:
    table = Table.of(pa.table({"column": values}))
    (column,) = find_columns(table, besides=()).categorical
    assert column.names == names
    assert column_codes(table, column, np.arange(2)).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (pa.array([-(10**6), 0], pa.date32()), "date32[day] outside of Python's dates"),
        (pa.array([253402300799 * 10**6, 0], pa.timestamp("us", "Asia/Tokyo")), "timestamp[us, tz=Asia/Tokyo] outside of Python's dates"),
        (pa.array([0, 1], pa.timestamp("us", "Mars/Phobos")), "timestamp[us, tz=Mars/Phobos] outside of Python's dates"),
        (pa.array([b"\xff", b"a"]).view(pa.string()), "text that is not UTF-8"),
        (pa.array([["a"], ["b"]]), "list<item: string>"),
    ],
)  # fmt: skip
def test_a_column_that_cannot_be_categories_is_left_out_with_its_reason(values: pa.Array, reason: str) -> None:
    found = find_columns(Table.of(pa.table({"when": values, "genre": ["war", "art"]})), besides=())
    assert [column.title for column in found.categorical] == ["genre"]
    assert found.left_out == {"when": reason}
    assert found.complaint("films") == (
        f"Columns of films that cannot be categories are left out: 'when' ({reason}). Save a column as text to filter by it."
    )


def test_a_text_that_is_not_utf8_is_named_by_its_row(path: Path) -> None:
    columns: dict[str, Any] = {"text": pa.array([b"a"] * 1001 + [b"caf\xe9"]).view(pa.string())}
    pq.write_table(pa.table(columns), path)
    with pytest.raises(IngestError, match=r"^Row 1,002 of the column 'text' is not UTF-8\. Save it as UTF-8 text\.$"):
        list(read_reviews(find_data(str(path)), text="text", label="none"))
