"""A typed sentence is encoded as by transformers, and one sentence says why a text cannot be read."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from flask import Flask

from dashboard.pages import TOPICS
from dashboard.sentence import page as sentence_page
from dashboard.sentence.arrival import waits
from dashboard.sentence.change import NO_CHANGE, Change
from dashboard.sentence.checkpoint import MOST_CHARACTERS, longest_typed
from dashboard.sentence.encoder import Encoder, TypedSentences
from dashboard.sentence.sentence import Sentence, stored_sentence
from dashboard.web import errors as problems
from dashboard.web.context import resolve
from dashboard.web.errors import Refusal
from dashboard.web.results import MOST_OF_BUDGET, memory_size
from dashboard.web.served_store import ServedStore
from ingest.encode.hooked_model import SentenceModel
from store import Corpus, open_corpus
from store.schema.corpus import CLS, CONTINUATION, PUNCTUATION, SEP
from tests.stores import MAX_LENGTH, Ingest
from tests.tiny_models import POSITIONS as LONGEST

TYPED = [
    ("The film was good.", ""),
    ("x", ""),
    ("Mr. Wayne, zany (1999)!", ""),
    ("\U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467", ""),
    ("\u05d4\u05e1\u05e8\u05d8 \u05d4\u05d9\u05d4 good", ""),
    ("\u0627\u0644\u0641\u064a\u0644\u0645 \u062c\u064a\u062f", ""),
    ("\u7535\u5f71 film", ""),
    ("caf\u00e9 na\u0131ve \u0130", ""),
    ("[MASK] the [SEP] film [CLS]", ""),
    ("<b>the</b> &amp; \x00 film\n\tplot", ""),
    ("half a \ud83d pair", ""),
    ("the " * (MAX_LENGTH - 1), ""),
    ("the " * (LONGEST - 2), ""),
    ("the " * (LONGEST - 1), ""),
    ("film " * 10_000, ""),
    ("The film was good.", "It was not."),
    ("good", "\U0001f600"),
    ("\u05e1\u05e8\u05d8", "film"),
    ("the film " * 30, "a plot"),
    ("a plot", "the film " * 30),
    ("the film " * 600, "good plot " * 600),
]


@pytest.fixture(scope="module")
def typed() -> TypedSentences:
    return TypedSentences()


@pytest.fixture(scope="module")
def reference(tiny_model: Path, eager: Callable[[Path], Any]) -> Callable[[str, str], list[np.ndarray]]:
    """Token ids, segments and patterns (layer, head, query_token, key_token) as transformers itself has them."""
    model, tokenizer = eager(tiny_model), transformers.AutoTokenizer.from_pretrained(tiny_model)

    def run(text: str, second: str) -> list[np.ndarray]:
        texts = [part[:MOST_CHARACTERS].encode("utf-8", "replace").decode() for part in (text, second) if part]
        encoded = tokenizer(*texts, truncation="longest_first", max_length=LONGEST, return_tensors="pt")
        with torch.inference_mode():
            patterns = torch.cat(model(**encoded, output_attentions=True).attentions)
        return [*(encoded[name][0].numpy() for name in ("input_ids", "token_type_ids")), patterns.numpy()]

    return run


@pytest.fixture
def own_corpus(tiny_store: str) -> Corpus:
    """A corpus that a test may change."""
    return open_corpus(tiny_store)


@pytest.fixture
def lost(own_corpus: Corpus) -> Corpus:
    """A corpus whose model cannot be found: every request for the model is refused with status 503."""
    provenance = {**own_corpus.attributes["provenance"], "settings": {"model": "nobody/nothing"}}
    own_corpus.attributes = {**own_corpus.attributes, "provenance": provenance}
    return own_corpus


@pytest.fixture
def busy(tiny_corpus: Corpus) -> Iterator[TypedSentences]:
    """Typed sentences while another reader has the turn and nobody may wait."""
    typed, began, over = TypedSentences(Encoder(waiting=0)), threading.Event(), threading.Event()

    def stay() -> bool:
        began.set()
        return not over.wait(120)

    reader = threading.Thread(target=typed.encode, args=(tiny_corpus, "film", "", stay))
    reader.start()
    assert began.wait(20)
    yield typed
    over.set()
    reader.join()


def refusal(typed: TypedSentences, corpus: Corpus, text: str, second: str = "", **more: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        typed.encode(corpus, text, second, **more)
    return caught.value


def test_what_context_mixing_follows_from_is_computed_of_a_shown_sentence_but_not_of_a_sample(
    typed: TypedSentences, tiny_corpus: Corpus
) -> None:
    shown, sampled = typed.encode(tiny_corpus, "the film"), typed.run(tiny_corpus, "the film", NO_CHANGE)
    assert shown.products is not None
    assert sampled.products is None
    np.testing.assert_array_equal(sampled.query, shown.query)


@pytest.mark.parametrize(("text", "second"), TYPED, ids=range(len(TYPED)))
def test_patterns_are_those_of_transformers(
    text: str, second: str, typed: TypedSentences, tiny_corpus: Corpus, reference: Callable[..., list[np.ndarray]]
) -> None:
    sentence = typed.encode(tiny_corpus, text, second)
    token_id, segment, pattern = reference(text, second)
    assert list(sentence.wordpieces) == list(tiny_corpus.vocab[token_id])
    np.testing.assert_array_equal(sentence.segment, segment)
    np.testing.assert_allclose(sentence.pattern, pattern, atol=1e-4)


def test_a_sentence_of_the_corpus_has_the_numbers_of_the_store(typed: TypedSentences, tiny_corpus: Corpus) -> None:
    sentence = typed.encode(tiny_corpus, str(tiny_corpus.sentences.text.values[3]))
    rows = tiny_corpus.sentence_rows(3)
    for name in ("query", "key", "value_norm"):
        stored = getattr(tiny_corpus, name)[:, :, rows].values.astype(np.float32)
        np.testing.assert_allclose(getattr(sentence, name), stored, rtol=2e-3, atol=2e-3)
        assert getattr(sentence, name).dtype == np.float32
    for name, stored in (("flags", "token_flags"), ("word_index", "word_index")):
        np.testing.assert_array_equal(getattr(sentence, name), tiny_corpus.tokens[stored].values[rows])


def test_a_pair_has_flags_and_words_counted_through_both(typed: TypedSentences, tiny_corpus: Corpus) -> None:
    sentence = typed.encode(tiny_corpus, "The film.", "odd")
    assert sentence.wordpieces == ("[CLS]", "the", "film", ".", "[SEP]", "o", "##d", "##d", "[SEP]")
    assert sentence.word_index.tolist() == [-1, 0, 1, 2, -1, 3, 3, 3, -1]
    assert sentence.segment.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert sentence.flags.tolist() == [CLS, 0, 0, PUNCTUATION, SEP, 0, CONTINUATION, CONTINUATION, SEP]


def test_a_sentence_of_as_many_tokens_as_are_read_is_not_cut(typed: TypedSentences, tiny_corpus: Corpus) -> None:
    sentence = typed.encode(tiny_corpus, "the " * (LONGEST - 2))
    assert (len(sentence.wordpieces), sentence.cut) == (LONGEST, False)


def test_a_sentence_of_ten_thousand_words_is_cut(typed: TypedSentences, tiny_corpus: Corpus) -> None:
    sentence = typed.encode(tiny_corpus, "film " * 10_000)
    assert (len(sentence.wordpieces), sentence.cut) == (LONGEST, True)
    assert len(sentence.text) == MOST_CHARACTERS


def test_of_a_pair_the_longer_one_is_cut(typed: TypedSentences, tiny_corpus: Corpus) -> None:
    sentence = typed.encode(tiny_corpus, "a plot", "film " * LONGEST)
    assert sentence.wordpieces[:4] == ("[CLS]", "a", "plot", "[SEP]")
    assert (len(sentence.wordpieces), sentence.cut) == (LONGEST, True)


def test_no_more_is_read_than_a_cache_holds_but_as_much_as_of_the_corpus(
    typed: TypedSentences, tiny_corpus: Corpus
) -> None:
    budget = 128 << 10
    most = longest_typed(tiny_corpus, budget=budget)
    assert MAX_LENGTH < most < LONGEST
    sentence = typed.encode(tiny_corpus, "film " * LONGEST, most=most)
    assert (len(sentence.wordpieces), sentence.cut) == (most, True)
    assert 0.7 * budget * MOST_OF_BUDGET < memory_size(sentence) < budget * MOST_OF_BUDGET
    assert longest_typed(tiny_corpus, budget=1) == MAX_LENGTH


def test_a_sentence_of_the_corpus_that_is_cut_is_changed_as_it_is_stored(
    typed: TypedSentences, tiny_corpus: Corpus
) -> None:
    stored = replace(stored_sentence(tiny_corpus, 3), text="the " * LONGEST)
    changed = typed.change(tiny_corpus, stored, Change(((0, 0),)))
    assert len(changed.wordpieces) == len(stored.wordpieces) < MAX_LENGTH


def test_characters_beyond_those_that_are_read_cut_a_sentence(typed: TypedSentences, tiny_corpus: Corpus) -> None:
    whole, longer = (typed.encode(tiny_corpus, "a" + " " * (MOST_CHARACTERS - 2) + end) for end in ("a", "aa"))
    assert whole.wordpieces == longer.wordpieces == ("[CLS]", "a", "a", "[SEP]")
    assert (whole.cut, longer.cut) == (False, True)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\x00\x01", "\u0301"])
def test_a_text_without_words_is_refused(text: str, typed: TypedSentences, tiny_corpus: Corpus) -> None:
    refused = refusal(typed, tiny_corpus, text)
    assert (refused.status, str(refused)) == (
        400,
        "The sentence has no word. Type one, such as: The film was good.",
    )


@pytest.mark.parametrize(("text", "second", "which"), [("film", "\u200b", "second"), ("\u200b", "film", "first")])
def test_of_a_pair_the_one_without_words_is_named(
    text: str, second: str, which: str, typed: TypedSentences, tiny_corpus: Corpus
) -> None:
    assert str(refusal(typed, tiny_corpus, text, second)).startswith(f"The {which} sentence has no word")


def test_a_blank_second_sentence_is_none(typed: TypedSentences, tiny_corpus: Corpus) -> None:
    assert typed.encode(tiny_corpus, "film", " ") is typed.encode(tiny_corpus, "film")


def test_a_model_that_refuses_a_text_is_loaded_and_one_that_is_missing_is_not(
    tiny_corpus: Corpus, lost: Corpus
) -> None:
    typed = TypedSentences()
    for corpus, text in ((tiny_corpus, "\u0301"), (lost, "film")):
        with pytest.raises(Refusal):
            typed.encode(corpus, text)
    assert (typed.has_loaded(tiny_corpus), typed.has_loaded(lost)) == (True, False)


def test_a_first_text_without_a_word_has_the_alert_that_a_loaded_model_gives(tiny_store: str) -> None:
    """The part that waits for the model ends, and the page that follows says why."""
    served_store = ServedStore(tiny_store)
    served_store.put(TypedSentences, TypedSentences())
    context = resolve(served_store, "/sentence", "?text=%CC%81%CC%81")
    assert waits(context)
    assert sentence_page.TYPED.compute(context) == []
    context = resolve(served_store, "/sentence", "?text=%CC%81%CC%81")
    assert not waits(context)
    alert = TOPICS["sentence"].layout(context).above[-1]
    assert (alert.color, "Type one, such as: The film was good." in str(alert)) == ("red", True)


def test_a_sentence_typed_before_is_cached(typed: TypedSentences, tiny_corpus: Corpus) -> None:
    first = typed.encode(tiny_corpus, "a good film", "a plot")
    assert typed.encode(tiny_corpus, "a good film", "a plot", has_left=lambda: True) is first


def test_a_sentence_is_not_kept_for_another_model(
    typed: TypedSentences, tiny_corpus: Corpus, other_corpus: Corpus
) -> None:
    shapes = [typed.encode(corpus, "a film").query.shape for corpus in (tiny_corpus, other_corpus)]
    assert shapes == [(2, 2, 4, 8), (3, 4, 4, 5)]


@pytest.fixture(scope="module")
def other_corpus(ingest: Ingest, odd_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return open_corpus(ingest(tmp_path_factory.mktemp("odd") / "store", model=odd_model, sentences=5))


def test_a_reader_beyond_the_queue_is_refused_with_a_message(busy: TypedSentences, tiny_corpus: Corpus) -> None:
    refused = refusal(busy, tiny_corpus, "good")
    assert refused.status == 503
    assert str(refused).endswith("Try again in a few seconds.")


def test_a_reader_who_left_is_dropped_before_the_model_is_asked(lost: Corpus) -> None:
    assert refusal(TypedSentences(), lost, "good", has_left=lambda: True).status == 499


def test_the_message_on_a_missing_model_names_no_folder(lost: Corpus) -> None:
    refused = refusal(TypedSentences(), lost, "good")
    assert refused.status == 503
    assert str(refused).startswith("The model tiny-bert cannot be loaded")
    assert str(refused).endswith("or run `headscape ingest` with another one.")


@pytest.mark.parametrize("step", ["__init__", "run"])
def test_a_model_for_which_there_is_no_memory_is_not_put_on_the_store(step: str, tiny_corpus: Corpus) -> None:
    def full(*_asked: object, **_settings: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    too_large = type("TooLarge", (SentenceModel,), {step: full})
    refused = refusal(TypedSentences(Encoder(make_model=too_large)), tiny_corpus, "good")
    assert refused.status == 503
    assert str(refused).startswith("The model cannot run now. Try again")


def test_a_store_that_does_not_say_where_its_model_is_is_refused(own_corpus: Corpus) -> None:
    own_corpus.attributes = {**own_corpus.attributes, "provenance": {"settings": {}}}
    assert "cannot be loaded" in str(refusal(TypedSentences(), own_corpus, "good"))


@pytest.mark.parametrize("changed", ["weights_sha256", "tokenizer_sha256"])
def test_another_model_than_the_corpus_own_is_refused(changed: str, own_corpus: Corpus) -> None:
    attributes = dict(own_corpus.attributes)
    attributes["provenance"] = dict(attributes["provenance"])
    (attributes if changed in attributes else attributes["provenance"])[changed] = "0" * 64
    own_corpus.attributes = attributes
    refused = refusal(TypedSentences(), own_corpus, "good")
    assert refused.status == 503
    assert "differs from the one this store was made with" in str(refused)


def test_a_route_answers_a_refusal_with_its_sentence(tiny_corpus: Corpus) -> None:
    server = Flask(__name__)
    problems.register(server)
    server.add_url_rule("/", view_func=lambda: TypedSentences().encode(tiny_corpus, ""))
    answer = server.test_client().get("/")
    assert (answer.status_code, answer.mimetype) == (400, "text/plain")
    assert answer.text.endswith("Type one, such as: The film was good.")


def test_readers_at_the_same_time_get_their_own_sentences(tiny_corpus: Corpus) -> None:
    typed = TypedSentences(Encoder(waiting=8))
    sentences: dict[int, Sentence] = {}

    def read(number: int) -> None:
        sentences[number] = typed.encode(tiny_corpus, f"film {number}")

    readers = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert {number: sentence.wordpieces[2] for number, sentence in sentences.items()} == {n: str(n) for n in range(8)}


@pytest.mark.slow
@pytest.mark.heavy
def test_a_server_on_which_nobody_types_loads_no_model() -> None:
    code = "import sys, dashboard.app, dashboard.sentence.encoder; print({'torch', 'transformers', 'ingest'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("index", [0, 7])
def test_a_sentence_of_the_corpus_mixes_as_it_does_when_it_is_typed(
    typed: TypedSentences, tiny_corpus: Corpus, index: int
) -> None:
    stored = tiny_corpus.token_mixing.values[:, :, tiny_corpus.sentence_rows(index)].astype(np.float32)
    encoded = typed.encode(tiny_corpus, str(tiny_corpus.sentences.text.values[index]))
    np.testing.assert_allclose(encoded.mixing, stored, atol=1e-3)
