"""An unusable spaCy pipeline is refused before the model runs; a pipeline without a parser gives no relations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import store
from ingest.run.errors import IngestError
from ingest.words.annotate import find_pipeline, load_pipeline
from store.repository.errors import NotIngested
from tests.pipelines import META, write_pipeline

Ingest = Callable[..., str]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in `sys.path`, for packages of pipelines."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.mark.parametrize(
    ("meta", "problem"),
    [
        ({"lang": "xx"}, "its meta.json has no version"),
        ({"version": "1.0.0"}, "its meta.json has no lang"),
        ([], "its meta.json is not that of a pipeline: AttributeError"),
        (META | {"performance": {"dep_uas": "good"}}, "its meta.json is not that of a pipeline: ValueError"),
    ],
)
def test_a_pipeline_whose_meta_is_none_is_refused(meta: Any, problem: str, packages: Path) -> None:
    package = write_pipeline(packages, "nometa", meta=meta)
    with pytest.raises(IngestError, match=rf"xx_nometa cannot be loaded \({problem}\)\. Install it again with pip"):
        find_pipeline(package)


def test_a_pipeline_whose_component_no_package_makes_is_refused_by_the_component(packages: Path) -> None:
    package = write_pipeline(packages, "lacking", factory="curated_transformer")
    with pytest.raises(IngestError, match=r"component curated_transformer\)\. Install the package of curated_transf"):
        load_pipeline(package)


def test_a_pipeline_that_pip_does_not_know_is_refused(packages: Path) -> None:
    package = write_pipeline(packages, "copied", installed=False)
    with pytest.raises(IngestError, match=r"xx_copied cannot be loaded \(OSError: \[E050\].*\)\. Install it again"):
        load_pipeline(package)


def test_a_pipeline_that_cannot_be_loaded_is_refused_before_the_model_runs(
    packages: Path, ingest: Ingest, commits: Callable[[str], list[str]], tmp_path: Path
) -> None:
    package = write_pipeline(packages, "lacking", factory="curated_transformer")
    with pytest.raises(IngestError, match="no installed package has its component"):
        ingest(tmp_path / "store", annotate=package, sentences=5)
    assert not any(": block" in message for message in commits(str(tmp_path / "store")))


def test_without_a_parser_there_are_no_relations_and_it_is_said_once(
    packages: Path, ingest: Ingest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = write_pipeline(packages, "words")
    place = ingest(tmp_path / "store", annotate=package, sentences=5)
    told = f"The spaCy pipeline {package} has no parser, so words get no governors and there will be no relations."
    assert capsys.readouterr().out.count(told) == 1
    corpus = store.open_corpus(place)
    assert len(corpus.words) > 0
    for result in ("relations", "uas"):
        with pytest.raises(NotIngested) as missing:
            getattr(corpus, result)
        assert f"no word has a governor in the silver annotation by {package} 1.0.0." in missing.value.missing
        assert missing.value.remedy == "Run `headscape ingest --annotate=<spaCy pipeline with a parser>`."
    ingest(Path(place), annotate=package, sentences=8)
    assert told not in capsys.readouterr().out


def test_sentences_of_one_word_have_no_relations_and_no_parser_gives_any(ingest: Ingest, tmp_path: Path) -> None:
    rows = [f"1\t{word}\t{word}\tNOUN\t_\t_\t0\troot\t_\t_\n" for word in ("film", "actor", "scene")]
    (tmp_path / "words.conllu").write_text("\n".join(rows) + "\n")
    corpus = store.open_corpus(ingest(tmp_path / "store", data=tmp_path / "words.conllu", annotate="auto"))
    with pytest.raises(NotIngested) as missing:
        _ = corpus.relations
    assert missing.value.remedy == "Give data with sentences of two words or more beside punctuation."
