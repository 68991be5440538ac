"""A tokenizer without offsets: its own wordpieces, and the characters that each of them stands for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st

from ingest.finetuning.data import Labelled, encode
from ingest.text.own_tokenizer import load_tokenizer, located
from ingest.text.tokenizer import Tokenizer
from store import open_corpus
from tests.japanese_model import save_japanese_model
from tests.stores import Ingest

LETTERS = st.text("私は映画を見たがか゛カｶﾞ\uff21a1。!犬 \u3000\u0301\u3099\x00\ufffd#▁㍿", max_size=12)


@pytest.fixture(scope="module", params=["character", "wordpiece"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_japanese_model(tmp_path_factory.mktemp("japanese"), subword_tokenizer_type=request.param)


@pytest.fixture(scope="module")
def own(model: Path) -> Any:
    """transformers' own tokenizer."""
    return transformers.AutoTokenizer.from_pretrained(model)


@pytest.fixture(scope="module")
def tokenizer(model: Path) -> Any:
    return load_tokenizer(model)


@given(parts=st.lists(st.one_of(LETTERS, st.sampled_from(["[MASK]", "[SEP]"])), max_size=3))
def test_ids_are_those_of_the_tokenizer_itself(parts: list[str], tokenizer: Any, own: Any) -> None:
    text = "".join(parts)
    assert tokenizer(text)["input_ids"] == own(text)["input_ids"]


@given(text=LETTERS)
def test_every_wordpiece_stands_for_characters_in_the_order_of_the_text(text: str, tokenizer: Any) -> None:
    spans = np.array(tokenizer(text, return_offsets_mapping=True)["offset_mapping"][1:-1]).reshape(-1, 2)
    assert (spans[:, 0] < spans[:, 1]).all()
    assert (np.diff(spans, axis=0) >= 0).all()
    assert spans.max(initial=0) <= len(text)


def test_offsets_and_words_are_those_of_the_text(tmp_path: Path) -> None:
    """Offsets hold for other widths, cases and unknown letters too."""
    tokenizer = Tokenizer(save_japanese_model(tmp_path, subword_tokenizer_type="wordpiece"), max_length=16)
    text = "映画 ｶＡ犬。私"
    [spans] = tokenizer.spans([text])
    tokens = tokenizer.tokenize([text])
    pieces = [tokenizer.vocab[number] for number in tokens.token_id]
    assert pieces == ["[CLS]", "映", "##画", "[UNK]", "。", "私", "[SEP]"]
    assert [text[start:stop] for start, stop in spans] == ["", "映", "画", "ｶＡ犬", "。", "私", ""]
    assert tokens.word_index.tolist() == [-1, 0, 0, 1, 2, 3, -1]


@pytest.mark.parametrize(
    ("parts", "text", "places"),
    [
        (["映画", "を"], "映画 を", [(0, 2), (3, 4)]),
        (["カ", "[UNK]", "が"], "ｶ犬か\u3099", [(0, 1), (1, 2), (2, 3)]),
        (["[UNK]", "[UNK]"], "犬猫", [(0, 1), (1, 2)]),
        (["[UNK]", "[UNK]", "a"], "犬a", [(0, 1), (0, 1), (1, 2)]),
        (["映", "[UNK]"], "映", [(0, 1), (0, 1)]),
    ],
)
def test_parts_are_located_by_what_they_spell(parts: list[str], text: str, places: list[tuple[int, int]]) -> None:
    assert located(parts, text) == places


def test_a_corpus_of_such_a_model_is_ingested(model: Path, ingest: Ingest, tmp_path: Path) -> None:
    (tmp_path / "films.txt").write_text("私は映画を見た。\n私が見た!\n映画が見たa1。\n" * 3, "utf-8")
    place = ingest(tmp_path / "store", model=model, data=tmp_path / "films.txt", sentences=3)
    corpus = open_corpus(place)
    own = transformers.AutoTokenizer.from_pretrained(model)
    for sentence in range(corpus.n_sentences):
        row = int(corpus.sentences.row_start.values[sentence])
        size = int(corpus.sentences.row_size.values[sentence])
        ids = corpus.tokens.token_id.values[row : row + size]
        assert ids.tolist() == own(str(corpus.sentences.text.values[sentence]))["input_ids"]


def test_a_review_is_encoded_for_a_fine_tuning(tokenizer: Any, own: Any) -> None:
    labelled = Labelled(["私は映画を見た。", "が!"], np.array([0, 1]), ["bad", "good"])
    encoded = [example["input_ids"] for example in encode(labelled, tokenizer, max_length=32)]
    assert encoded == own(labelled.texts)["input_ids"]
