"""The check against published numbers, as far as it goes without the published model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ingest.encode.hooked_model import HookedModel
from ingest.run.checkpoint import find_checkpoint
from ingest.text.blocks import Block
from ingest.text.reviews import Review
from ingest.text.tokenizer import Tokenizer
from store.schema.corpus import CLS, PUNCTUATION, SEP
from store.schema.model import SOURCES, STATISTICS
from tests.published.__main__ import AGREES, DIFFERS, NOT_CHECKED, check, compare, main
from tests.published.curves import agrees, head_statistics, heads_above, layer_curves, table_rows, verdict
from tests.published.segments import ROOM, SEPARATORS, TOKENS, cut, pack, review_segments
from tests.published.targets import CURVES, EXPANSION_RATE, HEADS, LAYERS, Target
from tests.tiny_models import WORDS, save_model

ENDS = np.array([[101, CLS], [102, SEP]])


def pieces(count: int, start: int) -> np.ndarray:
    """Wordpieces with consecutive numbers, so that each can be told apart."""
    return np.stack([np.arange(start, start + count), np.zeros(count, int)], axis=-1)


def sentences(*lengths: int) -> list[np.ndarray]:
    starts = 1000 + np.cumsum([0, *lengths])
    return [pieces(length, start) for length, start in zip(lengths, starts, strict=False)]


def packed(*lengths: int, seed: int = 0) -> list[np.ndarray]:
    return list(pack(sentences(*lengths), ENDS, np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", range(5))
def test_a_segment_is_a_pair_between_cls_and_two_sep(seed: int) -> None:
    (segment,) = packed(40, 50, 60, seed=seed)
    separators = np.flatnonzero(segment[:, 0] == 102)
    assert (len(segment), segment[0, 0], len(separators), separators[-1]) == (TOKENS, 101, SEPARATORS, TOKENS - 1)
    assert 1 < separators[0] < TOKENS - 2


@pytest.mark.parametrize("seed", range(5))
def test_a_segment_is_split_between_two_sentences(seed: int) -> None:
    (segment,) = packed(40, 40, 45, seed=seed)
    assert int(np.flatnonzero(segment[:, 0] == 102)[0]) in (41, 81)


def test_segments_are_packed_one_after_the_other() -> None:
    segments = packed(60, 65, 70, 55)
    assert [sorted(set(segment[:, 0]) - {101, 102}) for segment in segments] == [
        list(range(1000, 1125)),
        list(range(1125, 1250)),
    ]


def test_what_is_too_short_at_the_end_of_a_text_is_left_out() -> None:
    assert len(packed(60, 65, 70)) == 1


def test_a_sentence_as_long_as_a_segment_ends_its_text() -> None:
    assert packed(130, 60, 65) == []


@pytest.mark.parametrize("seed", range(10))
def test_the_longer_of_a_pair_is_cut_at_its_ends(seed: int) -> None:
    first, second = cut(pieces(30, 0), pieces(110, 500), np.random.default_rng(seed))
    assert (len(first), len(second)) == (30, ROOM - 30)
    np.testing.assert_array_equal(np.diff(second[:, 0]), 1)


@pytest.fixture(scope="module")
def wide_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads 128 wordpieces and has twelve layers of twelve heads like the published one, but random weights."""
    return save_model(tmp_path_factory.mktemp("wide") / "wide", layers=12, heads=12, channels=2)


@pytest.fixture(scope="module")
def bert(wide_model: Path) -> HookedModel:
    return HookedModel(find_checkpoint(str(wide_model)), device=torch.device("cpu"), dtype=torch.float32)


@pytest.fixture(scope="module")
def blocks(wide_model: Path) -> list[Block]:
    tokenizer = Tokenizer(wide_model, max_length=128)
    draw = np.random.default_rng(0)
    words = [word for word in WORDS if word.isalpha()]
    texts = (" ".join(f"{' '.join(draw.choice(words, 20))}." for _ in range(30)) for _ in range(4))
    return review_segments((Review(0, text, 0) for text in texts), tokenizer, count=6, seed=0)


def test_segments_of_reviews_have_two_separators(blocks: list[Block]) -> None:
    flags = np.concatenate([block.token_flags for block in blocks]).reshape(-1, TOKENS)
    assert len(flags) == 6
    assert (((flags & SEP) != 0).sum(axis=-1) == SEPARATORS).all()
    assert (((flags & PUNCTUATION) != 0).sum(axis=-1) > 0).all()


def test_as_many_segments_are_taken_as_asked(wide_model: Path) -> None:
    reviews = [Review(0, f"{'film ' * 80}. {'plot ' * 80}.", 0)] * 9
    blocks_of_reviews = review_segments(reviews, Tokenizer(wide_model, max_length=128), count=3, seed=0)
    assert sum(block.sentences for block in blocks_of_reviews) == 3


def clark(patterns: np.ndarray, flags: np.ndarray) -> dict[str, np.ndarray]:
    """Means of a segment as in General_Analysis.ipynb, head by head, from patterns (layer, head, query, key)."""
    tokens = len(flags)
    sep, cls, punctuation = ((flags & bit) != 0 for bit in (SEP, CLS, PUNCTUATION))
    smooth = 0.9999 * patterns + 0.0001 / tokens
    entropies = -(smooth * np.log(smooth)).sum(axis=-1)
    return {
        "to_sep": patterns[..., sep].sum(axis=(-2, -1)) / tokens,
        "to_cls": patterns[..., cls].sum(axis=(-2, -1)) / tokens,
        "to_punctuation": patterns[..., punctuation].sum(axis=(-2, -1)) / tokens,
        "sep_to_sep": patterns[..., sep, :][..., sep].sum(axis=(-2, -1)) / 2,
        "other_to_sep": patterns[..., ~sep, :][..., sep].sum(axis=(-2, -1)) / (tokens - 2),
        "entropy": entropies.mean(axis=-1),
        "entropy_from_cls": entropies[..., 0],
        "most_to_next": np.trace(patterns, 1, -2, -1) / tokens,
        "most_to_previous": np.trace(patterns, -1, -2, -1) / tokens,
    }


def test_the_curves_are_those_of_the_papers_own_definitions(
    bert: HookedModel, blocks: list[Block], wide_model: Path, eager: Any
) -> None:
    ids = np.concatenate([block.token_ids for block in blocks]).reshape(-1, TOKENS).astype(np.int64)
    flags = np.concatenate([block.token_flags for block in blocks]).reshape(-1, TOKENS)
    with torch.no_grad():
        segments = eager(wide_model)(
            input_ids=torch.from_numpy(ids), token_type_ids=torch.zeros(ids.shape, dtype=int), output_attentions=True
        )
    patterns = torch.stack(segments.attentions, dim=1).numpy()
    parts = [clark(*sentence) for sentence in zip(patterns, flags, strict=True)]
    curves = layer_curves(head_statistics(bert, blocks))
    for name, curve in curves.items():
        heads = np.mean([part[name] for part in parts], axis=0)
        expected = heads.max(axis=-1) if name.startswith("most") else heads.mean(axis=-1)
        np.testing.assert_allclose(curve, expected, atol=2e-3 if "entropy" in name else 1e-5, err_msg=name)


def made_up(layers: int = 2, heads: int = 2) -> np.ndarray:
    return np.zeros((len(SOURCES), len(STATISTICS), layers, heads))


def test_heads_are_counted_as_the_paper_does() -> None:
    means = made_up()
    means[0, list(STATISTICS).index("to_next"), 1, 0] = 0.51
    assert heads_above(means, "to_next", 0.5) == ["2-1"]


TARGET = Target("a share", (0.1, None, 0.3), 0.05)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([0.14, 9.0, 0.26], "agrees within 0.05"),
        ([0.1, 9.0, 0.4], "DIFFERS by 0.1 in layer 3, more than 0.05"),
        ([0.1, 9.0, np.nan], "DIFFERS by nan in layer 3, more than 0.05"),
    ],
)
def test_a_curve_is_compared_where_there_is_a_published_value(curve: list[float], expected: str) -> None:
    assert verdict(TARGET, np.array(curve)) == expected


def test_the_table_has_published_and_found_values_one_above_the_other() -> None:
    published, here = table_rows(TARGET, np.array([0.14, 9.0, 0.26]))
    assert published == ["a share", "published", "0.10", "", "0.30", ""]
    assert here == ["", "here", "0.14", "9.00", "0.26", "agrees within 0.05"]


def test_all_curves_have_to_agree() -> None:
    near, far = np.array([0.1, 0.0, 0.3]), np.array([0.1, 0.0, 0.9])
    assert agrees({"a": TARGET, "b": TARGET}, {"a": near, "b": near})
    assert not agrees({"a": TARGET, "b": TARGET}, {"a": near, "b": far})
    assert not agrees({"a": TARGET, "b": TARGET}, {"a": near, "b": np.array([0.1, 0.0, np.nan])})


@pytest.mark.parametrize("target", [*CURVES.values(), EXPANSION_RATE], ids=lambda target: target.title)
def test_a_target_has_a_value_a_layer(target: Target) -> None:
    assert len(target.values) == LAYERS


def test_the_published_shares_to_sep_are_one_another() -> None:
    """Rows that are [SEP] and rows that are not make up all rows; the three curves were read off two figures."""
    to_sep, sep, other = (np.array(CURVES[name].values, float) for name in ("to_sep", "sep_to_sep", "other_to_sep"))
    np.testing.assert_allclose((2 * sep + (TOKENS - 2) * other) / TOKENS, to_sep, atol=0.01)


def test_a_model_that_cannot_be_had_is_one_sentence_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model="]) == NOT_CHECKED
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("The published numbers were not checked. Model 'bert-base-uncased' is neither")
    assert len(printed.err.splitlines()) == 1


def test_a_model_of_another_shape_is_not_compared(tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--model={tiny_model}"]) == NOT_CHECKED
    assert "with 12 layers x 12 heads, tiny-bert has 2 x 2. Give MODEL=bert-base-uncased" in capsys.readouterr().err


def test_another_model_of_the_same_shape_differs(wide_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(find_checkpoint(str(wide_model)), segments=2) == DIFFERS
    printed = capsys.readouterr().out
    assert all(target.title in printed for target in [*CURVES.values(), EXPANSION_RATE])
    assert "Uniform entropy: 4.85 here, 4.78 published." in printed


def published(target: Target) -> np.ndarray:
    return np.array([0.0 if value is None else value for value in target.values])


def test_a_model_with_the_published_numbers_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    curves = {name: published(target) for name, target in CURVES.items()}
    statistics = np.zeros((len(SOURCES), len(STATISTICS), LAYERS, HEADS))
    assert compare("bert", published(EXPANSION_RATE), statistics, curves, 2) == AGREES
    assert "DIFFERS" not in capsys.readouterr().out
