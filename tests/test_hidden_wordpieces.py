"""The loss of hidden wordpieces where heads are replaced: against transformers' own, in a model that predicts them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM

from dashboard.sentence.replace import replace_heads as replace_heads_here
from dashboard.sentence.sample import SampleChange, Sampling, number_rows
from dashboard.web.state import Instead
from ingest.encode.hidden_words import GuessingModel
from ingest.run.checkpoint import find_checkpoint
from store import Corpus, open_corpus
from store.kernels.replacement import choose_hidden
from store.kernels.rules import COMMA, OTHER_TEXT, RULES, SentenceTokens
from store.replacement import hide, judged_sentences
from store.schema.corpus import NO_WORD
from tests.edited_model import replace_heads
from tests.ruled import written_sentence
from tests.stores import Ingest
from tests.tiny_models import save_model, wordpiece_tokenizer

HEADS = [(0, 1), (1, 0)]
SENTENCES = 5


@pytest.fixture(scope="module")
def guesser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("guesses") / "guesser", architecture="BertForMaskedLM")


@pytest.fixture(scope="module")
def guessed(guesser: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return open_corpus(ingest(tmp_path_factory.mktemp("guessed") / "store", model=guesser))


@pytest.fixture(scope="module")
def measured(guessed: Corpus) -> Callable[[Instead], SampleChange]:
    return lambda instead: replace_heads_here(guessed, HEADS, instead, SENTENCES)


def loss_of(model: Any, corpus: Corpus, hidden: dict[int, tuple[int, ...]]) -> tuple[float, int]:
    """Mean loss of transformers' own model over the hidden wordpieces of all sentences, and the number of these wordpieces."""
    mask_id, total, count = wordpiece_tokenizer().mask_token_id, 0.0, 0
    for sentence, places in hidden.items():
        token_id = torch.from_numpy(corpus.tokens.token_id.values[corpus.sentence_rows(sentence)].astype(np.int64))
        labels, masked = torch.full_like(token_id, -100), token_id.clone()
        labels[list(places)] = token_id[list(places)]
        masked[list(places)] = mask_id
        with torch.no_grad():
            total += float(model(input_ids=masked[None], labels=labels[None]).loss) * len(places)
        count += len(places)
    return total / count, count


def hidden_of(corpus: Corpus) -> dict[int, tuple[int, ...]]:
    """Positions of the wordpieces that the ingest's seed hides, by sentence."""
    generator = np.random.default_rng(int(corpus.attributes["provenance"]["settings"]["seed"]))
    flags = corpus.tokens.token_flags.values
    return {
        sentence: tuple(choose_hidden(flags[corpus.sentence_rows(sentence)], generator).tolist())
        for sentence in judged_sentences(corpus, SENTENCES).tolist()
    }


@pytest.mark.parametrize("instead", ["off", "even"])
def test_the_loss_is_that_of_an_edited_model_of_transformers(
    instead: Instead, guessed: Corpus, guesser: Path, measured: Callable[[Instead], SampleChange]
) -> None:
    found, losses = measured(instead).hidden, []
    for heads in ([], HEADS):
        model = BertForMaskedLM.from_pretrained(guesser).double().eval()
        each = {}
        for sentence, places in hidden_of(guessed).items():
            rows = guessed.sentence_rows(sentence)
            tokens = rows.stop - rows.start
            weights = np.full((tokens, tokens), 1 / tokens if instead == "even" else 0.0)
            edited = BertForMaskedLM.from_pretrained(guesser).double().eval() if heads else model
            if heads:
                replace_heads(edited, dict.fromkeys(heads, weights))
            each[sentence] = loss_of(edited, guessed, {sentence: places})
        count = sum(number for _, number in each.values())
        losses.append(sum(loss * number for loss, number in each.values()) / count)
    assert found is not None
    assert found.wordpieces == count
    assert (found.before, found.after) == pytest.approx(losses, abs=1e-5)


def test_the_loss_is_labelled_and_told(measured: Callable[[Instead], SampleChange]) -> None:
    found = measured("mean")
    assert found.hidden is not None
    np.testing.assert_array_equal(found.labelled().hidden_loss, [found.hidden.before, found.hidden.after])
    assert f"{found.hidden.after:.3f} after" in " ".join(row.number for row in number_rows(found))


def test_a_model_that_predicts_no_wordpiece_has_no_loss(roles_store: str) -> None:
    assert replace_heads_here(open_corpus(roles_store), HEADS, "off", 2).hidden is None


def test_a_sample_asks_once_whether_the_model_predicts_wordpieces(roles_store: str) -> None:
    corpus, asked = open_corpus(roles_store), []

    def encode(text: str, change: Any) -> Any:
        asked.append(bool(change.hidden))
        return model_of(corpus)(text, change)

    Sampling(corpus, encode, 3).as_it_is(lambda *_: None)
    assert asked == [True, False, False]


def model_of(corpus: Corpus) -> Callable[[str, Any], Any]:
    from dashboard.sentence.checkpoint import encoded, load
    from dashboard.web.corpus_model import CorpusModel

    model = load(CorpusModel.of(corpus))
    return lambda text, change: encoded(model, text, "", change).sentence


def test_special_tokens_are_never_hidden_and_one_wordpiece_at_least_is() -> None:
    flags = np.array([NO_WORD, 0, 0, NO_WORD], np.uint8)
    assert set(choose_hidden(flags, np.random.default_rng(0))) <= {1, 2}
    assert len(choose_hidden(flags, np.random.default_rng(0))) == 1
    assert len(choose_hidden(np.zeros(40, np.uint8), np.random.default_rng(0))) == 6


def test_a_hidden_wordpiece_is_not_rare_among_few_others() -> None:
    tokens = SentenceTokens(
        np.arange(4), np.array([NO_WORD, 0, 0, NO_WORD], np.uint8), np.zeros(4, int), np.arange(4), np.ones(4, int)
    )
    assert RULES["rare"].targets(hide(tokens, [1]))[0].tolist() == [False, False, True, False]


def test_rules_do_not_see_a_hidden_wordpiece() -> None:
    tokens = written_sentence()
    comma = int(np.flatnonzero(tokens.text_class == COMMA)[0])
    hidden = hide(tokens, [comma])
    assert RULES["comma"].targets(tokens)[0, comma]
    assert not RULES["comma"].targets(hidden).any()
    assert hidden.text_class[comma] == OTHER_TEXT
    assert not RULES["rare"].targets(hidden)[0, comma]
    np.testing.assert_array_equal(np.delete(hidden.token_id, comma), np.delete(tokens.token_id, comma))


def test_the_weights_of_the_layers_are_not_kept_twice(guesser: Path) -> None:
    model = GuessingModel(find_checkpoint(str(guesser)), max_length=24, dtype="float32")
    pair = model.tokenize("The film was not very good.", "")
    model.hidden_loss(pair, np.array([2]))
    assert {weight.device.type for weight in model._guesser.bert.encoder.parameters()} == {"meta"}
