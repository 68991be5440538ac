"""`store.describe`: contents of a store as data and as text, and its size."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from shutil import rmtree
from threading import Event

import pytest

import store
from store.__main__ import main
from store.describe import as_json, as_text, describe
from store.phrases import utc
from store.repository.history import bytes_on_disk


def test_a_description_lists_models_corpora_history_and_size(tiny_store: str, tiny_corpus: store.Corpus) -> None:
    data = as_json(describe(store.open_snapshot(tiny_store)))
    model, corpus = data["models"][0], data["corpora"][0]
    assert (model["layers"], model["heads"], model["channels"], model["sentences"]) == (2, 2, 8, 40)
    assert (model["tokens"], model["corpus"]) == (tiny_corpus.n_tokens, corpus["key"])
    assert (corpus["name"], corpus["sentences"], corpus["max_length"]) == ("reviews", 40, 24)
    assert data["history"][0]["snapshot"] == data["snapshot"]
    assert data["bytes"] == sum(file.stat().st_size for file in Path(tiny_store).rglob("*") if file.is_file())


def test_the_command_prints_the_description_as_json(tiny_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", tiny_store, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == as_json(describe(store.open_snapshot(tiny_store)))


def test_a_token_set_has_its_name_and_title(tiny_store: str) -> None:
    model = as_json(describe(store.open_snapshot(tiny_store)))["models"][0]
    corpus = store.open_corpus(tiny_store)
    assert [found["name"] for found in model["token_sets"]] == corpus.token_sets
    assert all(found["title"] for found in model["token_sets"])


@pytest.mark.parametrize("arguments", [["--store", "{}"], ["--store={}"], ["{}"]])
def test_every_command_takes_the_store_with_and_without_its_flag(
    arguments: list[str], tiny_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", *(argument.format(tiny_store) for argument in arguments)]) == 0
    assert capsys.readouterr().out.startswith(f"{tiny_store}: snapshot ")


def test_a_store_that_is_named_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["verify", "one", "--store=other"])
    assert "Give the store once: --store=STORE." in capsys.readouterr().err


def test_a_command_without_a_store_reads_the_default_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["describe"]) == 3
    assert "There is no store at data/headscape." in capsys.readouterr().err


def test_the_command_prints_models_corpora_and_history(tiny_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", tiny_store]) == 0
    shown = capsys.readouterr().out
    assert f"published {utc(store.open_snapshot(tiny_store).published)}" in shown
    assert shown == as_text(describe(store.open_snapshot(tiny_store))) + "\n"
    for part in ("2 layers x 2 heads x 8 channels, float32", "40 sentences", "views: pca-exact-2d", "history:"):
        assert part in shown


def test_size_is_computed_while_files_come_and_go(tmp_path: Path) -> None:
    """Files come and go while an ingest runs."""
    (tmp_path / "stays").write_bytes(bytes(7))
    stop = Event()

    def come_and_go() -> None:
        while not stop.is_set():
            (tmp_path / "passing").mkdir()
            for name in map(str, range(20)):
                (tmp_path / "passing" / name).touch()
            rmtree(tmp_path / "passing")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(come_and_go)
        try:
            assert {bytes_on_disk(str(tmp_path)) for _ in range(500)} == {7}
        finally:
            stop.set()


def test_size_of_a_snapshot_is_computed_once(copy: str) -> None:
    snapshot = store.open_snapshot(copy)
    before = describe(snapshot).bytes
    (Path(copy) / "ballast").write_bytes(bytes(1000))
    assert describe(snapshot).bytes == before


@pytest.mark.parametrize("hours", [-3, 0, 5])
def test_dates_are_written_in_utc(hours: int) -> None:
    moment = datetime(2026, 11, 22, 5, 35, 8, 391845, UTC).astimezone(timezone(timedelta(hours=hours)))
    assert utc(moment) == "22 Nov 2026, 05:35 UTC"
