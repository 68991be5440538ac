"""Benchmarks measure what the product runs. Their types show that every function they call exists (`make lint`)."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from dashboard.app import create_app
from dashboard.sentence.encoder import TypedSentences
from dashboard.statistics.parts import count, part_of
from dashboard.web.served_store import ServedStore
from ingest.encode.encoder import Encoder
from ingest.run.settings import Settings
from store import STATISTICS, open_corpus, open_snapshot
from tests.bench import ingest as bench
from tests.bench.kills import differences
from tests.bench.load_requests import Mix
from tests.bench.random_reviews import write_random_reviews
from tests.bench.screenshots import SCHEMES, WINDOWS, Shot, sheet
from tests.bench.statistics import computed
from tests.bench.synthetic import make_store
from tests.bench.table import show
from tests.client import FakeTyped

pytestmark = pytest.mark.heavy

Ingest = Callable[..., str]
Shares = set[tuple[int | None, int, int]]


@pytest.fixture
def settings(tiny_model: Path, tiny_data: Path) -> Settings:
    return Settings(model=str(tiny_model), data=str(tiny_data), max_length=24, sentences=5)


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shares]:
    """Streams, threads of torch and tokens of a batch, noted for every block that is encoded from now on."""
    shares: Shares = set()
    encode = Encoder.encode

    def listen(encoder: Encoder, *of: Any) -> None:
        shares.add((encoder.streams, torch.get_num_threads(), encoder.batch_tokens))
        encode(encoder, *of)

    monkeypatch.setattr(Encoder, "encode", listen)
    threads = torch.get_num_threads()
    yield shares
    torch.set_num_threads(threads)


def test_variables_that_make_leaves_empty_stand_in_the_way_of_no_benchmark() -> None:
    empty = dict.fromkeys(
        re.findall(r"^([A-Z_]+) \?=$", (Path(__file__).parents[1] / "Makefile").read_text("utf-8"), re.MULTILINE), ""
    )
    assert "REVIEWS" in empty
    run = subprocess.run(
        [sys.executable, "-m", "tests.bench", "nope"],
        env=os.environ | empty,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr.startswith("There is no benchmark nope. There are: ingest, ")


def test_a_made_up_store_can_be_counted(tiny_data: Path, tmp_path: Path) -> None:
    place = make_store(tmp_path / "store", layers=1, heads=2, channels=4, data=str(tiny_data), sentences=20)
    corpus = open_corpus(place)
    counted = count(corpus, part_of(corpus, "position:1..5"), lambda _: None)
    assert counted.means.sizes == {"source": 6, "statistic": len(STATISTICS), "layer": 1, "head": 2}


def test_a_made_up_store_may_count_more_tokens_than_have_vectors(tmp_path: Path) -> None:
    data = write_random_reviews(tmp_path / "reviews.parquet", sentences=1_000)
    chosen = {"data": str(data), "sentences": 900, "vectors": "1"}
    corpus = open_corpus(make_store(tmp_path / "store", layers=1, heads=2, channels=4, **chosen))
    assert 0 < corpus.n_sentences < corpus.counted_sentences == 900
    assert bool(corpus.head_interval.notnull().all())


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", [bench.rate, computed])
def test_a_benchmark_of_the_ingest_shares_the_cores_as_an_ingest_does(
    benchmark: Callable[[Settings], None], settings: Settings, shares: Shares, ingest: Ingest, tmp_path: Path
) -> None:
    ingest(tmp_path / "store", sentences=5)
    as_shared = set(shares)
    shares.clear()
    benchmark(settings)
    assert shares == as_shared != set()


def test_the_plain_forward_pass_has_the_threads_and_batches_of_an_ingest(
    settings: Settings, shares: Shares, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain: set[tuple[int, int]] = set()
    make = bench.make_batches
    monkeypatch.setattr(
        bench,
        "make_batches",
        lambda block, tokens: plain.add((torch.get_num_threads(), tokens)) or make(block, tokens=tokens),
    )
    bench.rate(settings)
    assert plain == {(threads, tokens) for _, threads, tokens in shares}


def test_a_table_names_the_machine_and_the_commit(capsys: pytest.CaptureFixture[str]) -> None:
    show("Seconds", ("stage", "time"), [("tensors", "1 s")])
    last = capsys.readouterr().out.splitlines()[-1]
    assert " GiB, Python " in last
    assert f", torch {version('torch')}, " in last
    assert ", commit " in last


def test_a_negative_number_of_a_table_has_a_real_minus(capsys: pytest.CaptureFixture[str]) -> None:
    show("Fidelity", ("view", "Spearman"), [("pca-raw-2d", "-0.64 (-0.65)")])
    assert "| pca-raw-2d | −0.64 (−0.65) |" in capsys.readouterr().out


@pytest.mark.slow
def test_every_request_of_the_crowd_is_answered(space_store: str) -> None:
    served_store = ServedStore(space_store)
    served_store.put(TypedSentences, FakeTyped())  # type: ignore[arg-type]
    client = create_app(served_store).server.test_client()
    mix = Mix(open_snapshot(space_store), seed=0)
    refused = []
    for kind in mix.kinds:
        request = mix.request_of(kind)
        method, form = ("POST", "application/x-www-form-urlencoded") if request.body else ("GET", None)
        answer = client.open(request.path, method=method, data=request.body, content_type=form)
        refused += [(kind, request.path, answer.status)] if answer.status_code != 200 else []
    assert refused == []


def test_a_store_that_was_never_killed_is_like_itself(tiny_store: str) -> None:
    assert differences(open_snapshot(tiny_store), open_snapshot(tiny_store)) == []


def test_a_sheet_has_a_row_of_pictures_for_each_scheme(tmp_path: Path) -> None:
    shots = [Shot("map", tmp_path / f"map-{scheme}.png", 4, ()) for scheme in SCHEMES]
    for shot, colour in zip(shots, ("white", "black"), strict=True):
        Image.new("RGB", (WINDOWS[0][0], 900), colour).save(shot.path)
    colours = [sheet(shots).getpixel((10, y)) for y in (10, 700)]
    assert colours == [(255, 255, 255), (0, 0, 0)]
