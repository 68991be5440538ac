"""Data sets of a hub on this machine: configurations, splits, the first rows, reasons of a failure, and the cache."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import datasets
import pytest

from ingest.run.errors import IngestError
from ingest.text import hub
from ingest.text.hub import HubData, find_hub_data, part_of
from ingest.text.reviews import find_data
from tests.hub import COMMIT, serving_hub

#: Reads data sets one after the other by the arguments of `find_data`, and prints the content of each or why it cannot be read.
CODE = """
import json, sys
from ingest.run.errors import IngestError
from ingest.text import hub
from ingest.text.reviews import find_data, read_reviews
hub.FIRST = 20
for line in sys.stdin:
    name, options = json.loads(line)
    try:
        data = find_data(name, **options)
        reviews = read_reviews(data, text="text", label="label")
        print("#", json.dumps([data.name, data.identity, len(reviews), reviews[0].text, reviews.label_names, data.total]))
    except IngestError as error:
        print("#", json.dumps(str(error)))
"""
ASKED: Mapping[str, tuple[str, dict[str, object]]] = {
    "config": ("films/glue:sst2", {}),
    "validation": ("films/glue:sst2", {"split": "validation"}),
    "no split": ("films/glue:sst2", {"split": "test"}),
    "no config": ("films/glue", {}),
    "other config": ("films/glue:xyz", {}),
    "one": ("films/one", {}),
    "first": ("films/one", {"first": 7}),
    "large": ("films/large", {"fewest": 30}),
    "main": ("films/one@main", {}),
    "uneven": ("films/uneven", {"first": 30}),
    "script": ("films/script", {}),
    "gated": ("films/gated", {}),
    "missing": ("films/missing", {}),
}
Answers = Mapping[str, object]
#: A card that states more rows than the data set has.
LARGE_CARD = """---
dataset_info:
  features:
  - name: text
    dtype: string
  splits:
  - name: train
    num_bytes: 3000000000
    num_examples: 3000000
  download_size: 3000000000
  dataset_size: 3000000000
---
"""


def write_glue(folder: Path) -> None:
    """Two configurations with two splits each, as the hub has them."""
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    card = ["---", "configs:"]
    for config in ("cola", "sst2"):
        card += [f"- config_name: {config}", "  data_files:"]
        for split in ("train", "validation"):
            (folder / config).mkdir(parents=True, exist_ok=True)
            rows = {"text": [f"{config} {split} {row}." for row in range(20)], "label": [row % 2 for row in range(20)]}
            path = folder / config / f"{split}-00000-of-00001.parquet"
            datasets.Dataset.from_dict(rows, features).to_parquet(str(path))
            card += [f"  - split: {split}", f"    path: {config}/{split}-*"]
    (folder / "README.md").write_text("\n".join([*card, "---", "Films."]))


def ask(home: Path, names: list[str], **environment: str) -> Answers:
    """Answers of a new process with the cache in `home`, by name."""
    lines = "\n".join(json.dumps(ASKED[name]) for name in names)
    known = {**os.environ, "HF_HOME": str(home), "HF_DATASETS_CACHE": str(home / "datasets"), **environment}
    done = subprocess.run(
        [sys.executable, "-c", CODE], input=lines, env=known, capture_output=True, text=True, check=True
    )
    answers = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("# ")]
    return dict(zip(names, answers, strict=True))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def asked(home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, list[str]]:
    """Answers with a hub, and the paths that a second process with the same data sets asks the hub for."""
    folder = tmp_path_factory.mktemp("hub") / "films"
    write_glue(folder / "glue")
    for name in ("one", "script", "gated", "large", "uneven"):
        (folder / name).mkdir()
    (folder / "large" / "README.md").write_text(LARGE_CARD)
    (folder / "large" / "train.jsonl").write_text("".join(f'{{"text": "large {row}."}}\n' for row in range(200)))
    (folder / "one" / "train.jsonl").write_text("".join(f'{{"text": "one {row}."}}\n' for row in range(50)))
    for number, stars in enumerate(("1", '"one"')):
        rows = "".join(f'{{"text": "uneven {row}.", "stars": {stars}}}\n' for row in range(20))
        (folder / "uneven" / f"train-{number}.jsonl").write_text(rows)
    (folder / "script" / "script.py").write_text("raise SystemExit\n")
    with serving_hub(folder.parent) as (address, paths):
        answers = ask(home, list(ASKED), HF_ENDPOINT=address, HF_HUB_OFFLINE="0")
        paths.clear()
        ask(home, list(READ), HF_ENDPOINT=address, HF_HUB_OFFLINE="0")
        return answers, list(paths)


@pytest.fixture(scope="module")
def offline(home: Path, asked: object) -> Answers:  # noqa: ARG001
    """Answers without a hub, from the cache that the hub has filled."""
    return ask(home, [*READ, "no config", "missing"], HF_HUB_OFFLINE="1")


pytestmark = pytest.mark.slow
GLUE, ONE, LARGE = (f"hub:films/{name}@{COMMIT}" for name in ("glue:sst2", "one", "large"))
READ = {
    "config": ["films/glue:sst2", GLUE, 20, "sst2 train 0.", ["bad", "good"], None],
    "validation": [
        "films/glue:sst2 (validation)",
        f"{GLUE}#validation",
        20,
        "sst2 validation 0.",
        ["bad", "good"],
        None,
    ],
    "one": ["films/one", ONE, 50, "one 0.", [], None],
    "first": ["films/one (first 7 reviews)", f"{ONE}#first=7", 7, "one 0.", [], 50],
    "large": ["films/large (first 80 reviews)", f"{LARGE}#first=80", 80, "large 0.", [], 3_000_000],
}


@pytest.mark.parametrize("name", READ)
def test_a_configuration_a_split_or_the_first_rows_are_read(name: str, asked: tuple[Answers, list[str]]) -> None:
    assert asked[0][name] == READ[name]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "no split",
            "films/glue:sst2 has no split 'test', it has: train, validation. Give --data-split=train, or another of these.",
        ),
        (
            "no config",
            "films/glue has several configurations: cola, sst2. Give --data=films/glue:cola, or another of these.",
        ),
        (
            "other config",
            "films/glue has no configuration 'xyz': cola, sst2. Give --data=films/glue:cola, or another of these.",
        ),
        (
            "uneven",
            "Rows of films/uneven cannot be read as one table (ArrowInvalid): columns change their types, or a file is damaged. "
            "Save the data as a file of one type for each column, and give --data=<that file>.",
        ),
        (
            "script",
            "films/script is read by a script, which `datasets` no longer runs. Give --data=films/script@refs/convert/parquet for the "
            "hub's copy in Parquet, or download the data and give --data=<file>.",
        ),
        (
            "gated",
            "films/gated is gated: its owners give access at https://huggingface.co/datasets/films/gated. Ask for it there. "
            "Run `hf auth login`, or set HF_TOKEN, and then the same command.",
        ),
        (
            "missing",
            "Data 'films/missing' is neither a local file nor on the hub, or it is private. Give --data=<file> or a name such as "
            "--data=stanfordnlp/imdb; for a private one run `hf auth login` first.",
        ),
    ],
)
def test_each_cause_has_its_own_sentence(name: str, sentence: str, asked: tuple[Answers, list[str]]) -> None:
    assert asked[0][name] == sentence


def test_what_is_in_the_cache_is_not_asked_of_the_hub(asked: tuple[Answers, list[str]]) -> None:
    assert asked[1] == []


@pytest.mark.parametrize("name", READ)
def test_what_is_in_the_cache_is_read_without_a_hub(name: str, offline: Answers) -> None:
    assert offline[name] == READ[name]


@pytest.mark.parametrize("name", ["no config", "missing"])
def test_what_is_not_in_the_cache_is_refused_without_a_hub(name: str, offline: Answers) -> None:
    assert str(offline[name]).startswith(
        f"Data '{ASKED[name][0]}' is neither a local file nor in the cache, and the hub"
    )


def test_a_store_tells_the_revision_of_its_data_where_no_hub_is_reached() -> None:
    held = ["hub:films/two@old", "hub:films/one@abc#validation"]
    assert find_hub_data("films/one", lambda: held) == HubData("films/one", None, "abc")


def test_a_named_commit_asks_nothing_of_the_hub() -> None:
    assert find_data(f"films/one@{COMMIT}").identity == ONE


def test_a_large_data_set_is_read_in_part_on_request_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    info = type("Info", (), {"download_size": 3 << 30, "splits": None})
    asked: list[object] = []
    builder = type("Builder", (), {"info": info})
    monkeypatch.setattr(datasets, "load_dataset_builder", lambda *names, **__: asked.append(names) or builder)
    data = HubData("films/large", None, "abc")
    hub.hub_size.cache_clear()
    assert part_of(data, None, identity="hub:films/large@abc", first=None, fewest=1 << 40, held=()).first is None
    with pytest.raises(IngestError, match="films/large"):  # the hub is out of reach
        hub.load_split(data, None)
    assert len(asked) == 1
    hub.hub_size.cache_clear()
    assert "films/large has 3.2 GB, all of which is downloaded. --first=50000" in capsys.readouterr().out
