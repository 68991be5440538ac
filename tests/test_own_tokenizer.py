"""A checkpoint's tokenizer fits its model, or the refusal names what is missing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers

from dashboard.sentence.change import NO_CHANGE
from dashboard.sentence.checkpoint import encoded
from dashboard.sentence.encoder import TypedSentences
from dashboard.web.errors import Refusal
from headscape.__main__ import main as headscape
from ingest.encode.hidden_words import GuessingModel
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from ingest.text.own_tokenizer import load_tokenizer
from ingest.text.tokenizer import Tokenizer
from store import open_corpus
from store.schema.corpus import CLS, FIRST
from tests.broken_model import add_pieces, change_config, change_weights
from tests.roberta import causal_tokenizer
from tests.stores import rewritten
from tests.tiny_models import protein_tokenizer

Complaint = Callable[..., str]
Ingest = Callable[..., str]
ROWS = "embeddings.word_embeddings.weight"


# -- more wordpieces than the embedding has rows -------------------------------------------------------------


def test_a_tokenizer_with_more_wordpieces_than_rows_is_refused_before_a_commit(
    broken: Path, complaint: Complaint, tmp_path: Path
) -> None:
    pieces = add_pieces(broken, "zork", "quux")
    told = complaint(model=broken)
    assert f"has {pieces} wordpieces, and the embedding of the model {pieces - 2} rows: 'zork' has no vector" in told
    assert told.endswith(f"model.resize_token_embeddings({pieces}).")
    assert not (tmp_path / "store").exists()


def test_a_tokenizer_with_more_wordpieces_than_rows_is_refused_by_the_check_of_a_model(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pieces = add_pieces(broken, "zork")
    assert headscape(["check-model", str(broken)]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith(
        f"check-model: The tokenizer of broken has {pieces} wordpieces, and the embedding of the model "
    )
    assert "rows: 'zork' has no vector. Save the model again" in told


def test_a_model_with_fewer_rows_than_a_corpus_has_wordpieces_is_refused(
    broken: Path, ingest: Ingest, complaint: Complaint, tmp_path: Path
) -> None:
    """The store already has the sentences, from another model with the same tokenizer."""
    ingest(tmp_path / "store", model=broken, sentences=5)
    smaller = Path(shutil.copytree(broken, tmp_path / "smaller"))
    rows = json.loads((smaller / "config.json").read_text())["vocab_size"] - 1
    change_config(smaller, vocab_size=rows)
    change_weights(smaller, lambda weights: weights.update({ROWS: weights[ROWS][:rows].clone()}))
    assert f"the embedding of the model {rows} rows" in complaint(model=smaller, sentences=5)


def test_an_embedding_that_is_padded_is_allowed(broken: Path, ingest: Ingest, tmp_path: Path) -> None:
    rows = json.loads((broken / "config.json").read_text())["vocab_size"]
    change_config(broken, vocab_size=rows + 6)
    change_weights(broken, lambda weights: weights.update({ROWS: weights[ROWS][[*range(rows), *[0] * 6]].clone()}))
    corpus = open_corpus(ingest(tmp_path / "store", model=broken, sentences=5))
    assert len(corpus.vocab) == rows


def test_a_typed_wordpiece_without_a_vector_is_named(broken: Path, ingest: Ingest, tmp_path: Path) -> None:
    """The store is from before such tokenizers were refused."""
    name = open_corpus(ingest(tmp_path / "store", model=broken, sentences=5)).name
    add_pieces(broken, "zork")
    with rewritten(tmp_path / "store") as writer:
        attributes: Any = writer.group(f"models/{name}").attrs
        made_by = {"tokenizer_sha256": find_checkpoint(str(broken)).tokenizer_sha256}
        attributes["provenance"] = attributes["provenance"] | made_by
    corpus, typed = open_corpus(str(tmp_path / "store")), TypedSentences()
    with pytest.raises(Refusal, match=r"no vector for the wordpiece 'zork'\. Type a text without it\.$") as refused:
        typed.encode(corpus, "the film", "a zork")
    assert refused.value.status == 400
    assert typed.encode(corpus, "the film").wordpieces == ("[CLS]", "the", "film", "[SEP]")


# -- special tokens around a text ----------------------------------------------------------------------------


def save_fast(
    model: Path, *, single: str | None = None, pair: str | None = None, unknown: str = "[UNK]", **names: str
) -> None:
    """Replace the tokenizer by one of words, with a template of the special tokens around a text."""
    vocab = {piece: number for number, piece in enumerate(["[PAD]", "[UNK]", "<s>", "</s>", "film", "the"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, unk_token=unknown))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    if single:
        special = [("<s>", 2), ("</s>", 3)]
        template = tokenizers.processors.TemplateProcessing(single, pair, special)
        tokenizer.post_processor = template
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(model)


def test_ends_of_a_text_are_those_that_the_tokenizer_puts_there(broken: Path) -> None:
    """The tokenizer need not name its special tokens."""
    save_fast(broken, single="<s> $A </s>")
    tokenizer = load_tokenizer(broken)
    assert (tokenizer.cls_token, tokenizer.sep_token) == ("<s>", "</s>")
    assert (tokenizer.cls_token_id, tokenizer.sep_token_id) == (2, 3)


@pytest.mark.parametrize(
    ("single", "names", "problem"),
    [
        (None, {}, "no [CLS] before a text and no [SEP] after it: it names no cls_token and sep_token"),
        (
            None,
            {"cls_token": "<s>", "sep_token": "</s>"},
            "no [CLS] before a text and no [SEP] after it: it has no post",
        ),
        ("$A </s>", {}, "no [CLS] before a text and </s> after it"),
        ("<s> $A", {"cls_token": "<s>", "sep_token": "</s>"}, "<s> before a text and no [SEP] after it"),
        ("<s> </s> $A", {}, "<s> before a text and no [SEP] after it"),
    ],
)
def test_a_tokenizer_that_leaves_the_ends_of_a_text_open_is_refused(
    single: str | None, names: dict[str, str], problem: str, broken: Path, complaint: Complaint
) -> None:
    save_fast(broken, single=single, **names)
    told = complaint(model=broken)
    assert f"puts {problem}" in told
    assert told.endswith("the post-processor tokenizers.processors.BertProcessing.")


def test_a_refused_tokenizer_is_named_by_its_model_where_that_has_a_name(broken: Path) -> None:
    save_fast(broken, single="<s> $A")
    with pytest.raises(
        IngestError, match=r"^The tokenizer of mine \(\w+\) puts <s> before a text and no \[SEP\] after it"
    ):
        Tokenizer(broken, max_length=8, name="mine")


@pytest.mark.parametrize(
    ("single", "pair"),
    [("<s> $A </s> $A </s>", "<s> $A </s> $B </s>"), ("<s> $A </s>", "<s> $B </s> $A </s>")],
    ids=["a text twice", "the second text first"],
)
def test_a_pair_that_is_not_one_text_after_the_other_is_refused(single: str, pair: str, broken: Path) -> None:
    save_fast(broken, single=single, pair=pair)
    tokenizer = Tokenizer(broken, max_length=16, name="mine")
    assert tokenizer.tokenize(["the film"]).token_id[0] == 2
    with pytest.raises(IngestError, match=r"^The tokenizer of mine makes of a pair something else than the first text"):
        tokenizer.tokenize_pair("the film", "film")


def test_a_reader_of_such_a_pair_is_told_so(broken: Path) -> None:
    save_fast(broken, single="<s> $A </s>", pair="<s> $B </s> $A </s>")
    model = GuessingModel(find_checkpoint(str(broken)), max_length=16, dtype="float32")
    with pytest.raises(Refusal, match="Give one text, or save the tokenizer again with another post-processor"):
        encoded(model, "the film", "film", NO_CHANGE)


def test_a_tokenizer_that_cannot_read_unknown_letters_is_refused(broken: Path) -> None:
    save_fast(broken, single="<s> $A </s>", unknown="nowhere")
    with pytest.raises(
        IngestError, match=r"cannot read a text with an unknown letter .* Save it again with an unk_tok"
    ):
        load_tokenizer(broken)


# -- what a tokenizer needs ---------------------------------------------------------------------------------


def test_a_package_that_a_tokenizer_needs_is_named(broken: Path, complaint: Complaint) -> None:
    (broken / "tokenizer.json").unlink()
    (broken / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    config = {"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "jumanpp"}
    (broken / "tokenizer_config.json").write_text(json.dumps(config))
    told = complaint(model=broken)
    assert "(BertJapaneseTokenizer) needs the package rhoknp, which is not installed" in told
    assert told.endswith("Install it: pip install rhoknp.")


@pytest.mark.parametrize("text", ["MKTAYIAKQR", "MK xx AyZ<mask>K", "The film was good!", " M\tK", "x<eos>K", ""])
def test_letters_of_proteins_are_those_of_transformers_and_know_their_places(text: str, tmp_path: Path) -> None:
    own = protein_tokenizer()
    own.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "esm"}))
    tokenizer = Tokenizer(tmp_path, max_length=40)
    found = tokenizer.tokenize([text]).token_id.tolist()
    assert found == own(text)["input_ids"]
    spans = tokenizer.spans([text])[0]
    known = [
        (number, text[start:stop]) for number, (start, stop) in zip(found, spans.tolist(), strict=True) if start >= 0
    ]
    assert [letter for number, letter in known if number != own.unk_token_id] == [
        tokenizer.vocab[number] for number, _ in known if number != own.unk_token_id
    ]


@pytest.mark.parametrize(
    ("single", "flag", "word"), [(None, FIRST, 0), ("<|endoftext|> $A", CLS, -1)], ids=["nothing", "a token"]
)
def test_a_text_of_gpt2_begins_with_what_its_tokenizer_puts_there(
    single: str | None, flag: int, word: int, tmp_path: Path
) -> None:
    own = causal_tokenizer()
    if single:
        special = [("<|endoftext|>", own.eos_token_id)]
        own.backend_tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single, f"{single} $B", special)
    own.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    tokens = Tokenizer(tmp_path, max_length=40).tokenize(["film good"])
    assert tokens.token_id.tolist() == own("film good")["input_ids"]
    assert (tokens.token_flags[0], tokens.word_index[0]) == (flag, word)


def test_a_tokenizer_without_offsets_is_refused_by_its_class(broken: Path, complaint: Complaint) -> None:
    (broken / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "CanineTokenizer"}))
    assert "(CanineTokenizer) does not tell which characters of a text a wordpiece stands for" in complaint(
        model=broken
    )
