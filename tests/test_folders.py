"""A data set in several files: a folder that `datasets` saved, shards, a pattern, a clone of a repository of the hub."""

import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import store
from ingest.run.errors import IngestError, short
from ingest.text.reviews import Reviews, find_data, has_split, read_reviews
from tests.hub_cache import cached_data
from tests.test_hub import write_glue
from tests.treebanks import write_treebank

Ingest = Callable[..., str]
FEATURES = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])})


def rows(first: int, count: int) -> datasets.Dataset:
    numbers = range(first, first + count)
    return datasets.Dataset.from_dict(
        {"text": [f"Film {number}." for number in numbers], "label": [number % 2 for number in numbers]}, FEATURES
    )


def write_shards(folder: Path) -> Path:
    """Two shards in Parquet, of three and of four rows."""
    folder.mkdir()
    for shard, (first, count) in enumerate([(0, 3), (3, 4)]):
        rows(first, count).to_parquet(str(folder / f"part-{shard}.parquet"))
    return folder


def read(place: object, split: str | None = None) -> Reviews:
    return read_reviews(find_data(str(place), split=split), text="text", label="label")


def texts_and_labels(reviews: Reviews) -> list[tuple[str, str]]:
    return [(review.text, reviews.label_names[review.label]) for review in reviews]


SEVEN = [(f"Film {number}.", ("bad", "good")[number % 2]) for number in range(7)]


@pytest.mark.parametrize("shards", [1, 3])
def test_a_folder_of_save_to_disk_is_read_with_the_names_of_its_labels(shards: int, tmp_path: Path) -> None:
    rows(0, 7).save_to_disk(str(tmp_path / "films"), num_shards=shards)
    assert texts_and_labels(read(tmp_path / "films")) == SEVEN


def test_a_split_of_save_to_disk_is_read(tmp_path: Path) -> None:
    datasets.DatasetDict(train=rows(0, 5), test=rows(5, 2)).save_to_disk(str(tmp_path / "films"))
    assert texts_and_labels(read(tmp_path / "films")) == SEVEN[:5]
    assert texts_and_labels(read(tmp_path / "films", "test")) == SEVEN[5:]
    assert find_data(str(tmp_path / "films"), split="test").name == "films (test)"
    assert [has_split(find_data(str(tmp_path / "films")), split) for split in ("test", "validation")] == [True, False]


def test_shards_of_a_folder_are_one_data_set(tmp_path: Path) -> None:
    assert texts_and_labels(read(write_shards(tmp_path / "films"))) == SEVEN


def write_named(folder: Path, name: str, labels: list[int | None], names: list[str]) -> Path:
    """A Parquet file whose texts are `<name> <label>`, and which names its labels."""
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=names)})
    columns = {"text": [f"{name} {label}" for label in labels], "label": pa.array(labels, pa.int64())}
    folder.mkdir(exist_ok=True)
    pq.write_table(
        pa.table(columns).replace_schema_metadata(features.arrow_schema.metadata), folder / f"{name}.parquet"
    )
    return folder / f"{name}.parquet"


@pytest.mark.parametrize("pattern", ["", "*.parquet"])
def test_every_shard_keeps_its_own_names_of_labels(pattern: str, tmp_path: Path) -> None:
    write_named(tmp_path, "a", [0, 1, None], ["bad", "good"])
    write_named(tmp_path, "b", [0, 1, -1, 2], ["good", "bad"])
    write_named(tmp_path, "c", [2, 0, 1], ["good", "odd", "bad"])
    reviews = read(tmp_path / pattern if pattern else tmp_path)
    assert reviews.label_names == ["bad", "good", "odd"]
    assert [(review.text, [*reviews.label_names, ""][review.label]) for review in reviews] == [
        *[("a 0", "bad"), ("a 1", "good"), ("a None", "")],
        *[("b 0", "good"), ("b 1", "bad"), ("b -1", ""), ("b 2", "")],
        *[("c 2", "bad"), ("c 0", "good"), ("c 1", "odd")],
    ]


def test_numbers_that_only_some_shards_name_are_refused(tmp_path: Path) -> None:
    write_named(tmp_path, "a", [0, 1], ["bad", "good"])
    save(tmp_path, "b.parquet", {"text": ["b"], "label": [1]})
    with pytest.raises(
        IngestError,
        match=r"^The column 'label' of .* does not hold labels: it holds numbers that only some of the files name\. "
        r"Name another with --label=\.\.\., or give --label=none for no labels\.$",
    ):
        read(tmp_path / "*.parquet")
    assert [review.text for review in read_reviews(find_data(str(tmp_path)), text="text", label="none")][2:] == ["b"]


def test_a_shard_without_any_label_needs_no_names(tmp_path: Path) -> None:
    write_named(tmp_path, "a", [0, 1], ["bad", "good"])
    save(tmp_path, "b.parquet", {"text": ["b"], "label": pa.nulls(1, pa.int64())})
    assert [(review.text, review.label) for review in read(tmp_path)] == [("a 0", 0), ("a 1", 1), ("b", -1)]


def test_a_parquet_file_names_its_labels_by_its_path_as_by_a_pattern(tmp_path: Path) -> None:
    path = write_named(tmp_path, "films", [1, 0, 1], ["bad", "good"])
    by_path, by_pattern = read(path), read(tmp_path / "*.parquet")
    assert texts_and_labels(by_path) == [("films 1", "good"), ("films 0", "bad"), ("films 1", "good")]
    assert texts_and_labels(by_path) == texts_and_labels(by_pattern)


def test_a_store_from_before_the_names_of_a_parquet_file_were_read_goes_on_with_its_numbers(tmp_path: Path) -> None:
    """The earlier version listed the numbers that occur as the names of labels."""
    reviews = read(write_named(tmp_path, "films", [2, -1, 1], ["bad", "good", "odd"])).numbered_as(["-1", "1", "2"])
    assert (reviews.label_names, [review.label for review in reviews]) == (["-1", "1", "2"], [2, 0, 1])
    assert reviews.numbered_as([]).label_names == ["-1", "1", "2"]


@pytest.mark.parametrize("name", ["a [b] c", "a*b", "a:b", "50%"])
def test_a_folder_of_any_name_is_read(name: str, tmp_path: Path) -> None:
    assert texts_and_labels(read(write_shards(tmp_path / name))) == SEVEN


def test_files_of_a_pattern_are_one_data_set(tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "films")
    assert texts_and_labels(read(folder / "part-*.parquet")) == SEVEN
    names = [find_data(str(folder / pattern)).name for pattern in ("part-*.parquet", "*.parquet")]
    assert names == ["part-*", "films"]


@pytest.mark.parametrize("writer", [pa.ipc.new_stream, pa.ipc.new_file])
def test_arrow_files_are_read_whether_stream_or_file(writer: Callable[..., Any], tmp_path: Path) -> None:
    columns = pa.table({"text": pa.array(["One.", "Two."]).dictionary_encode()})
    with pa.OSFile(str(tmp_path / "films.arrow"), "wb") as sink, writer(sink, columns.schema) as written:
        written.write_table(columns)
    for place in (tmp_path, tmp_path / "films.arrow"):
        assert [review.text for review in read(place)] == ["One.", "Two."]


def test_a_clone_of_a_repository_is_read_by_its_configurations(tmp_path: Path) -> None:
    write_glue(tmp_path / "glue")
    reviews = read(f"{tmp_path / 'glue'}:sst2", "validation")
    assert (len(reviews), reviews[0].text, reviews.label_names) == (20, "sst2 validation 0.", ["bad", "good"])
    with pytest.raises(IngestError, match=r"glue has several configurations: cola, sst2\. Give --data=.*glue:cola"):
        read(tmp_path / "glue")
    with pytest.raises(IngestError, match=r"has no configuration 'xyz': cola, sst2\. Give --data="):
        read(f"{tmp_path / 'glue'}:xyz")


def test_treebanks_of_a_folder_are_one_treebank(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_treebank(tmp_path / f"{name}.conllu")
    data = find_data(str(tmp_path))
    assert data.is_treebank
    assert len(read_reviews(data, text="text", label="label")) == 2 * len(read(tmp_path / "a.conllu"))


def test_a_folder_is_told_by_the_bytes_of_its_files(tmp_path: Path) -> None:
    before = find_data(str(write_shards(tmp_path / "films"))).identity
    (tmp_path / "films" / "part-0.parquet").rename(tmp_path / "films" / "part-00.parquet")
    assert find_data(str(tmp_path / "films")).identity == before
    rows(9, 1).to_parquet(str(tmp_path / "films" / "part-1.parquet"))
    assert find_data(str(tmp_path / "films")).identity != before


def save(folder: Path, name: str, columns: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / name)


def test_a_column_of_different_types_is_left_out_of_shards(tmp_path: Path) -> None:
    save(tmp_path / "films", "a.parquet", {"text": ["a", "c"], "year": [1, 1], "stars": [1, 2]})
    save(tmp_path / "films", "b.parquet", {"text": ["b", "d"], "year": ["two", "two"], "stars": [1.0, 2.0]})
    reviews = read(tmp_path / "films")
    assert [column.title for column in reviews.columns.categorical] == ["stars"]
    with pytest.raises(
        IngestError, match=r"column 'year' of films does not hold text but int64 and .*string; columns of text: text"
    ):
        read_reviews(find_data(str(tmp_path / "films")), text="year", label="label")


def test_a_column_of_numbers_in_shards_is_no_text(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        save(tmp_path / "films", name, {"text": ["a"], "stars": [1]})
    with pytest.raises(
        IngestError, match=r"column 'stars' of films does not hold text but int64; columns of text: text"
    ):
        read_reviews(find_data(str(tmp_path / "films")), text="stars", label="label")


def test_a_column_whose_values_do_not_fit_the_common_type_is_left_out_of_shards(tmp_path: Path) -> None:
    price = pa.array([Decimal("1.25")], pa.decimal128(5, 2))
    save(tmp_path / "films", "a.parquet", {"text": ["a"], "price": pa.nulls(1)})
    save(tmp_path / "films", "b.parquet", {"text": ["b"], "price": price})
    save(tmp_path / "films", "c.parquet", {"text": pa.nulls(1), "price": [3]})
    assert [review.text for review in read(tmp_path / "films")] == ["a", "b", ""]
    with pytest.raises(IngestError, match=r"'price' of films does not hold text but .*decimal128\(5, 2\) and int64"):
        read_reviews(find_data(str(tmp_path / "films")), text="price", label="label")


def label_noted_as(feature: str) -> str:
    return f'{{"info": {{"features": {{"label": {feature}}}}}}}'


@pytest.mark.parametrize(
    "note",
    [
        "no JSON",
        '{"info": null}',
        label_noted_as('{"_type": "Newer"}'),
        label_noted_as('{"_type": "ClassLabel", "names": [1, 2]}'),
    ],
)
def test_numbers_stay_numbers_where_their_names_cannot_be_read(note: str, tmp_path: Path) -> None:
    columns = pa.table({"text": ["a", "b"], "label": [0, 1]}).replace_schema_metadata({"huggingface": note})
    pq.write_table(columns, tmp_path / "films.parquet")
    assert texts_and_labels(read(tmp_path)) == [("a", "0"), ("b", "1")]


def is_not_fetched(folder: Path) -> Path:
    save(folder, "a.parquet", {"text": ["a"]})
    (folder / "a.parquet").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    return folder


def is_cut(folder: Path) -> Path:
    rows(0, 7).save_to_disk(str(folder))
    shard = next(folder.glob("*.arrow"))
    shard.write_bytes(shard.read_bytes()[:40])
    return folder


def lacks_a_shard(folder: Path) -> Path:
    rows(0, 7).save_to_disk(str(folder))
    next(folder.glob("*.arrow")).unlink()
    return folder


def lacks_a_split(folder: Path) -> Path:
    datasets.DatasetDict(train=rows(0, 5), test=rows(5, 2)).save_to_disk(str(folder))
    shutil.rmtree(folder / "test")
    return folder


def has_broken_yaml(folder: Path) -> Path:
    folder.mkdir()
    (folder / "train.csv").write_text("text\nA film.\n")
    (folder / "README.md").write_text("---\nconfigs: [\n---\n")
    return folder


def has_a_broken_archive(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.zip").write_bytes(b"PK\x03\x04")
    return folder


def has_a_script(folder: Path) -> Path:
    folder.mkdir()
    (folder / f"{folder.name}.py").write_text("raise SystemExit\n")
    return folder


@pytest.mark.parametrize(
    ("write", "part"),
    [
        (is_not_fetched, "is a pointer of Git LFS, not the data. Run `git lfs pull`"),
        (is_cut, "is not whole Arrow"),
        (lacks_a_shard, "films lists data-00000-of-00001.arrow, which is not there. Copy the whole folder, or save"),
        (lacks_a_split, "test/state.json is not there. Copy the whole folder, or save"),
        (has_broken_yaml, "films cannot be read by `datasets` (ParserError). Give --data=<a pattern"),
        (has_a_broken_archive, "films cannot be read by `datasets` (BadZipFile). Give --data=<a pattern"),
        (lambda _: Path("/"), "The folder / cannot be read by `datasets` (IndexError). Give --data=<a pattern"),
        (has_a_script, "is read by a script, which `datasets` no longer runs. Save its data as Parquet"),
        (lambda folder: folder.mkdir() or folder, "holds no data. Give --data=<a folder"),
        (lambda folder: write_shards(folder).parent / "none-*.csv", "No file is named as"),
    ],
)
def test_a_folder_that_cannot_be_read_is_refused(write: Callable[[Path], Path], part: str, tmp_path: Path) -> None:
    with pytest.raises(IngestError) as refused:
        read(write(tmp_path / "films"))
    assert part in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("state.json", content) for content in ["{}", "[]", "null", '["x"]']),
        *(("state.json", f'{{"_data_files": {files}}}') for files in ["5", "[]", "[5]", '[{"filename": ""}]']),
        *(("dataset_dict.json", content) for content in ["{}", "null", '{"splits": 5}', '{"splits": []}']),
    ],
)
def test_a_folder_that_is_not_as_save_to_disk_writes_it_is_refused(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(IngestError, match=rf"{name} is not as save_to_disk writes it\. Save the data set again"):
        read(tmp_path)


def test_a_split_without_its_shard_is_refused_when_it_is_read_and_the_others_are_read(tmp_path: Path) -> None:
    datasets.DatasetDict(train=rows(0, 7), test=rows(7, 2)).save_to_disk(str(tmp_path))
    next((tmp_path / "test").glob("*.arrow")).unlink()
    assert texts_and_labels(read(tmp_path)) == SEVEN
    with pytest.raises(IngestError, match=r"test lists data-00000-of-00001\.arrow, which is not there\. Copy"):
        read_reviews(find_data(str(tmp_path)), text="text", label="label", split="test")


def test_files_of_different_forms_are_refused(tmp_path: Path) -> None:
    for name in ("a.csv", "b.jsonl"):
        (tmp_path / name).write_text("text\n")
    with pytest.raises(IngestError, match=r"differ in their form: a\.csv and b\.jsonl\. Give --data="):
        read(tmp_path / "*")


def test_a_folder_of_two_forms_says_which_files_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    films = write_shards(tmp_path / "films")
    (films / "more.csv").write_text("text,label\nA film,1\n")
    (films / "dataset_info.json").write_text("{}")
    assert texts_and_labels(read(films)) == SEVEN
    (said,) = capsys.readouterr().out.splitlines()
    assert said == (
        f"1 file of {short(films)} left out, of another form than .parquet: more.csv. "
        "To read these, give --data=<a pattern of files of one form>."
    )


def test_files_of_the_same_form_that_are_in_no_split_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    films = tmp_path / "films"
    films.mkdir()
    for name in ("a", "b", "test"):
        (films / f"{name}.csv").write_text(f"text\n{name}\n")
    assert [review.text for review in read(films)] == ["test"]
    assert capsys.readouterr().out.splitlines() == [
        f"2 files of {short(films)} left out, in no split: a.csv, b.csv. "
        "To read these, give --data=<a pattern of files of one form>."
    ]


def test_files_of_another_configuration_are_not_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_glue(tmp_path / "glue")
    read(f"{tmp_path / 'glue'}:sst2", "validation")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("split", "part"), [("test", "has no split 'test', it has: train. Give --data-split=train")])
def test_a_split_that_is_not_there_is_refused(split: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=part):
        read(write_shards(tmp_path / "films"), split)


def test_a_file_has_no_splits(tmp_path: Path) -> None:
    (tmp_path / "films.txt").write_text("A film.\n")
    with pytest.raises(IngestError, match=r"films has no splits\. Give no --data-split=test\."):
        read(tmp_path / "films.txt", "test")


@pytest.mark.parametrize("place", ["films.csv", "embedded"])
def test_the_first_reviews_are_a_data_set_of_their_own(place: str, tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text("text\n" + "".join(f"Film {row}.\n" for row in range(9)))
    name = place if place == "embedded" else str(tmp_path / place)
    every, some = find_data(name), find_data(name, first=4)
    assert (some.name, some.identity) == (f"{every.name} (first 4 reviews)", f"{every.identity}#first=4")
    assert len(read_reviews(some, text="text", label="none")) == 4


def test_a_store_of_a_folder_needs_nothing_but_the_folder(ingest: Ingest, tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "films")
    opened = store.open_corpus(ingest(tmp_path / "store", data=folder))
    assert (opened.n_sentences, opened.label_names) == (7, ("bad", "good"))


def test_a_finished_store_asks_nothing_of_a_hub_that_is_out_of_reach(
    ingest: Ingest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cache has the data for the first ingest, and no longer for the second."""
    with cached_data("films/one", train=rows(0, 7)):
        ingest(tmp_path / "store", data="films/one")
    ingest(tmp_path / "store", data="films/one")
    assert "Nothing to do: " in capsys.readouterr().out
