"""JSON as programs write it: read where its records are clear, else refused by name."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.run.errors import IngestError
from ingest.text.json_file import UnknownShapeError, json_records, records_of
from ingest.text.reviews import find_data, read_reviews

RECORDS = [{"text": "A good film.", "label": "pos"}, {"text": "A bad film.", "label": "neg"}]
TABLE = pd.DataFrame(RECORDS)


def read(path: Path, content: str) -> list[dict[str, Any]]:
    path.write_text(content, "utf-8")
    return list(json_records(path))


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
@pytest.mark.parametrize(
    "content",
    [
        "\n".join(map(json.dumps, RECORDS)),
        "\n\n".join(map(json.dumps, RECORDS)) + "\n\n",
        "".join(map(json.dumps, RECORDS)),
        "\n".join(json.dumps(record, indent=2) for record in RECORDS),
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=1),
        f"\n\n  {json.dumps(RECORDS)}",
        f"{json.dumps(RECORDS[:1])}\n{json.dumps(RECORDS[1:])}",
        json.dumps({"version": "1", "data": RECORDS}),
        json.dumps({"version": "1", "data": RECORDS}, indent=2),
        json.dumps({"text": [record["text"] for record in RECORDS], "label": [record["label"] for record in RECORDS]}),
        json.dumps({"features": [{"name": "text"}], "rows": [{"row_idx": 0, "row": record} for record in RECORDS]}),
        *(TABLE.to_json(orient=orient) for orient in ("columns", "index", "split", "records")),
        TABLE.to_json(orient="records", lines=True),
    ],
)
def test_records_are_read_from_the_shapes_that_programs_write(content: str, ending: str, tmp_path: Path) -> None:
    assert read(tmp_path / f"a{ending}", content) == RECORDS


@pytest.mark.parametrize("kept", ["text", "x\ufffd"])
def test_keys_that_only_half_surrogates_tell_apart_are_two_columns(kept: str, tmp_path: Path) -> None:
    """UTF-8 writes both keys alike."""
    record = r'{"x\ud800": "a", "x\ud801": "b", "text": "c", "y\ud800": ["d"]}'
    (tmp_path / "a.jsonl").write_text(2 * f"{record}\n")
    data = find_data(str(tmp_path / "a.jsonl"))
    if kept == "text":
        reviews = read_reviews(data, text="text", label="none")
        assert [review.text for review in reviews] == ["c", "c"]
        refused = {"x\ufffd": "two columns", "y\ufffd": "a list in row 1"}
        assert {title: reviews.table.refused[title] for title in refused} == refused
    else:
        with pytest.raises(IngestError, match=r"does not hold text but two columns; .* Name the text column with --t"):
            read_reviews(data, text=kept, label="none")


def test_the_table_schema_of_pandas_numbers_its_rows(tmp_path: Path) -> None:
    records = read(tmp_path / "a.json", TABLE.to_json(orient="table"))
    assert records == [{"index": row, **record} for row, record in enumerate(RECORDS)]


@pytest.mark.parametrize(
    "record",
    [
        RECORDS[0],
        {"text": "A film of Ann.", "entities": [{"text": "Ann", "label": "PERSON"}]},
        {"text": ["A", "film"], "label": "pos"},
        {},
    ],
)
def test_an_object_alone_may_be_one_record(record: dict[str, Any]) -> None:
    assert list(records_of(record)) == [record]


@pytest.mark.parametrize(
    ("document", "shape"),
    [
        ([["a", 1], ["b", 0]], "an array whose first entry is a list, which names no columns"),
        (["a", "b"], "an array whose first entry is text, which names no columns"),
        ("a", "text"),
        (3, "a number"),
        (None, "null"),
        ({"train": RECORDS, "test": RECORDS}, "an object with several arrays of objects (train, test)"),
        ({"x": {"a": 1}, "y": {"a": 2}}, "an object of objects (x, y)"),
        ({"0": {"1": 1}, "1": {"1": 2}}, "an object of objects (0, 1)"),
    ],
)
def test_a_shape_whose_records_are_not_clear_is_named(document: Any, shape: str, tmp_path: Path) -> None:
    with pytest.raises(IngestError) as refused:
        read(tmp_path / "a.json", json.dumps(document))
    assert f"a.json is {shape}, not one object for each review. Save " in str(refused.value)


def test_what_is_wrong_in_a_document_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"^Line 3 of .* is no JSON object \(.* at character 1\)\. Save one object"):
        read(tmp_path / "a.json", '[{"text": "a"},\n{"text": "b"},\n]')


def test_a_comma_after_a_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"^Line 1 of .* \(Expecting value at character 14\)"):
        read(tmp_path / "a.jsonl", '{"text": "a"},\n{"text": "b"},\n')


def test_a_table_with_two_columns_of_one_name_is_refused() -> None:
    with pytest.raises(UnknownShapeError, match=r"^is a table with two columns of one name, not one object"):
        records_of({"columns": ["text", "text"], "data": [["first", "second"], ["third", "fourth"]]})


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["columns", "data", "index", "rows", "row", "0", "1", "text"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(document=VALUES)
def test_any_document_has_records_or_is_named(document: Any) -> None:
    try:
        list(records_of(document))
    except UnknownShapeError as error:
        assert str(error).startswith("is ")  # noqa: PT017  # both are right
