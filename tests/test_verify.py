"""`verify` finds and names damage, and finds nothing in a sound store."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import zarr

import store
from store.__main__ import main
from store.repository.writer import open_writer
from store.verify import verify
from tests.tiny_models import save_model


@pytest.fixture
def copy(tiny_store: str, tmp_path: Path) -> str:
    return str(shutil.copytree(tiny_store, tmp_path / "store"))


def largest(folder: Path) -> Path:
    return max((file for file in folder.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)


def change(url: str, path: str, index: Any, value: Any) -> None:
    """Publish a wrong number in place of a right one; the path starts at the model's group."""
    corpus = store.open_corpus(url)
    if isinstance(index, tuple):
        index = tuple(corpus.sentence_rows(at.sentence).start if isinstance(at, First) else at for at in index)
    groups = {"model": f"models/{corpus.name}", "corpus": f"corpus/{corpus.attributes['corpus']}"}
    kind, _, name = path.partition("/")
    with open_writer(url) as writer:
        array = writer.group(groups[kind])[name]
        assert isinstance(array, zarr.Array)
        array[index] = value
        writer.publish("a wrong number")


def test_verify_reports_that_a_sound_store_is_sound(tiny_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", tiny_store]) == 0
    assert capsys.readouterr().out.startswith(f"{tiny_store} is sound: every array of snapshot ")


def test_a_store_of_which_no_sentence_is_recomputed_is_sound(few_store: str) -> None:
    assert list(verify(store.open_snapshot(few_store), recomputed=0)) == []


def test_a_store_of_odd_shape_is_sound(odd_store: str) -> None:
    assert list(verify(store.open_snapshot(odd_store), recomputed=25)) == []


class First(NamedTuple):
    """The first token of a sentence."""

    sentence: int


#: The sentences of 40 that `verify` recomputes when it takes three.
FIRST, MIDDLE, LAST = First(0), First(19), First(39)


def unlike(token: First) -> str:
    return f"the statistics of sentence {token.sentence} do not follow"


ALIEN = "the feature points of sample are not those of the tokens of the corpus"
INTERVALS = "intervals of heads do not contain their means"
#: Wrong numbers, several in a store, each found by itself: array, place, number and finding.
WRONG: list[list[tuple[str, Any, Any, str]]] = [
    [
        ("model/token_statistic", (6, 1, 0, FIRST), 9, unlike(FIRST)),
        ("model/token_mixing", (0, 1, MIDDLE), 0.01, unlike(MIDDLE)),
        ("model/value_norm", (1, 1, LAST), 99, unlike(LAST)),
        ("model/head_statistic", (0, 0, 0, 0), 0.123, "the head statistics do not follow"),
        ("model/layer_mixing", (0, 0, 0), 0.123, "the mixing ratios of the layers do not follow"),
        ("model/head_profile", (3, 0, 0), 0.123, "the profiles by relative position do not follow"),
        ("model/divergence/divergence", (0, 0, 0, 1), np.nan, "the divergence between heads is not finite"),
        ("model/features/sample/feature", (1, 5, 0), np.nan, "the feature points of sample are not all finite"),
    ],
    [
        ("model/token_statistic", (12, 1, 1, FIRST), 9, unlike(FIRST)),
        ("model/query", (1, 1, MIDDLE, 3), 40, unlike(MIDDLE)),
        ("model/token_statistic", (6, 1, 0, LAST), np.nan, unlike(LAST)),
        ("model/layer_interval", (1, 5, 6, 1), 0, "intervals of layers do not contain their means"),
        ("model/head_profile", (11, 0, 0), 0.123, "profiles by relative position disagree with the statistic to_self"),
        ("model/received_at", (3, 0, 0), 0.123, "attention by position does not add up"),
        ("model/divergence/divergence", (0, 0, 0, 1), 0.5, "the divergence between heads is not symmetric"),
        ("model/features/review-3/value", (1, 1, 2, 0), np.inf, "the feature points of review-3 are not all finite"),
        ("model/features/sample/row", 3, 1 << 40, ALIEN),
    ],
    [
        ("model/token_statistic", (11, 1, 1, FIRST), 9, unlike(FIRST)),
        ("model/block_sum", (0, 0, 0, 0, 0), 7, "the head statistics do not follow"),
        ("model/head_profile", (3, 0, 0), 0.123, "attention by relative position does not add up"),
        ("model/divergence/divergence", (1, 0, 1, 0), 0.5, "a head diverges from itself"),
        ("model/head_interval", (0, 0, 6, 1, 0), 9, INTERVALS),
        ("model/features/sample/feature", (2, slice(None), 0), 9, "contradict their stored similarity"),
        ("corpus/sentence_index", 3, 5, "the sentence indices of the tokens do not match"),
    ],
    [
        ("model/token_statistic", (16, 0, 1, FIRST), 0.9, unlike(FIRST)),
        ("model/tokens_at", 3, 1, "the numbers of tokens by position do not follow"),
        ("model/divergence/divergence", ..., 1e6, "the divergence between heads exceeds ln 2 per token"),
        ("model/head_interval", (1, 4, 6, 1, 0), np.nan, INTERVALS),
        ("model/features/sample/token_id", 3, 9, ALIEN),
    ],
    [("corpus/token_flags", 3, 16, "the sentence indices of the tokens do not match")],
    [
        ("corpus/sentence_hash", 3, 0, "not in the order of their hash"),
        ("model/key", (0, 0, slice(0, 3)), np.nan, "tokens of layer 0 lack their key"),
    ],
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong[0][0])
def test_verify_finds_wrong_numbers(wrong: list[tuple[str, Any, Any, str]], copy: str) -> None:
    for path, index, value, _ in wrong:
        change(copy, path, index, value)
    problems = "\n".join(verify(store.open_snapshot(copy), recomputed=3))
    assert [(path, finding) for path, _, _, finding in wrong if finding not in problems] == []


def test_verify_finds_head_importance_that_is_not_finite(ingest: Callable[..., str], tmp_path: Path) -> None:
    model = save_model(tmp_path / "judged", architecture="BertForMaskedLM")
    place = ingest(tmp_path / "store", model=model, importance=5, sentences=5)
    assert list(verify(store.open_snapshot(place))) == []
    change(place, "model/importance/change", (0, 1), np.nan)
    assert any("head importance is not finite" in problem for problem in verify(store.open_snapshot(place)))


def test_verify_counts_its_findings_says_what_to_do_and_finds_an_older_snapshot_sound(
    few: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = store.open_snapshot(few).id
    change(few, "model/layer_mixing", (0, 0, 0), 0.123)
    assert main(["verify", few]) == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 1
    assert shown.err == f"store: 1 finding in {few}. Ingest again into another place, or open an older snapshot.\n"
    assert main(["verify", few, "--snapshot", before]) == 0


@pytest.mark.parametrize("damage", ["cut", "lost", "overwritten"])
def test_verify_names_the_array_of_a_damaged_chunk(damage: str, few: str, capsys: pytest.CaptureFixture[str]) -> None:
    chunk = largest(Path(few) / "chunks")
    content = chunk.read_bytes()
    chunk.unlink()
    if damage != "lost":
        chunk.write_bytes(content[:100] if damage == "cut" else bytes(len(content)))
    assert main(["verify", few]) == 1
    file, *problems = capsys.readouterr().out.splitlines()
    assert file.startswith(f"chunks/{chunk.name} ")
    assert problems
    place = re.compile(r"/models/tiny-bert-\w+/[\w/-]+ cannot be read at \w+ \d+[^.']*[^.]\.$")
    assert all(place.match(line) for line in problems)


def test_verify_finds_a_damaged_manifest(few: str, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = largest(Path(few) / "manifests")
    manifest.write_bytes(manifest.read_bytes()[:100])
    assert main(["verify", few]) == 1
    assert " cannot be read at " in capsys.readouterr().out


@pytest.mark.parametrize("command", ["describe", "verify"])
@pytest.mark.parametrize("damage", ["cut", "lost"])
def test_a_damaged_snapshot_is_reported_in_one_sentence(
    damage: str, command: str, few: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = Path(few) / "snapshots" / store.open_snapshot(few).id
    file.write_bytes(file.read_bytes()[:100]) if damage == "cut" else file.unlink()
    assert main([command, few]) == 1
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("store: ")


@pytest.mark.parametrize("damage", ["cut", "lost"])
def test_a_damaged_branch_is_reported_in_one_sentence(damage: str, few: str, capfd: pytest.CaptureFixture[str]) -> None:
    file = Path(few) / "refs" / "branch.main" / "ref.json"
    file.write_text("{") if damage == "cut" else file.unlink()
    assert main(["verify", few]) == 1
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("store: ")
