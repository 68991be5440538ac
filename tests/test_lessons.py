"""Page Lessons: each link shows what the lesson says, and a store has the lessons that its content allows."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.lessons.lessons import Lesson
from dashboard.lessons.page import read
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus
from store.kernels.bias import Mask
from store.schema.model import head_name
from tests.client import above

#: Titles of lessons: in every store, with a head of a label, and with a corpus in Latin letters.
ALWAYS = ["The figures of “What Does BERT Look At?”"]
BACK = "A head that looks one token back"
TYPED = ["What “it” looks at", "Sentence A attends to sentence B", "The brown capybara"]


def lessons(store: str) -> list[Lesson]:
    return list(read(resolve(ServedStore(store), "lessons", "")).lessons)


@pytest.fixture(scope="module")
def served(three_models: str) -> ServedStore:
    return ServedStore(three_models)


@pytest.fixture(scope="module")
def links(served: ServedStore) -> list[str]:
    found = read(resolve(served, "lessons", "")).lessons
    return [href for lesson in found for _, href in lesson.links]


def test_every_link_of_a_lesson_opens_as_it_is_written(served: ServedStore, links: list[str]) -> None:
    parts = [urlsplit(link) for link in links]
    contexts = [resolve(served, part.path, part.query) for part in parts]
    assert {link: context.notices for link, context in zip(links, contexts, strict=True) if context.notices} == {}


def test_a_store_with_a_second_model_has_a_lesson_of_two_models(three_models: str) -> None:
    assert "Two models on the same sentences" in [lesson.title for lesson in lessons(three_models)]


def test_a_store_without_features_and_words_has_the_lessons_of_what_it_has(few_store: str) -> None:
    expected = {*ALWAYS, *TYPED, "Does near mean attended?"}
    assert {lesson.title for lesson in lessons(few_store)} == expected


def test_a_corpus_in_another_script_has_no_typed_sentences(few_store: str) -> None:
    found = changed_lessons(few_store, counted_text=lambda _: "この映画はとても面白かった。")
    assert not {*TYPED} & {lesson.title for lesson in found}


def changed_lessons(store: str, **changed: Any) -> list[Lesson]:
    """The lessons of a store with some attributes of its corpus replaced."""
    context = resolve(ServedStore(store), "lessons", "")
    return list(read(replace(context, corpus=_Changed(context.corpus, **changed))).lessons)


class _Changed:
    """A corpus with some attributes replaced."""

    def __init__(self, corpus: Corpus, **changed: Any) -> None:
        self._corpus = corpus
        self.__dict__ |= changed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._corpus, name)


def test_the_lesson_of_the_capybara_marks_the_pairs_of_its_two_words(few_store: str) -> None:
    (lesson,) = (lesson for lesson in lessons(few_store) if lesson.title == "The brown capybara")
    assert "&marks=brown-capybara" in lesson.links[0][1]


def test_the_lesson_of_it_asks_for_the_choice_that_ranks_the_heads(few_store: str) -> None:
    """A click on a key alone selects the key in place of the query, and ranks nothing."""
    (lesson,) = (lesson for lesson in lessons(few_store) if lesson.title == "What “it” looks at")
    assert (
        "Click “it” on the left, then choose “animal” as Key under “Which heads link these two words?”:"
        in lesson.look_for
    )


def test_a_lesson_shows_its_sentence_whatever_other_pages_showed(served: ServedStore) -> None:
    left = "text=Hello+there&second=Bye&queries=3&show=matrix&without=1-1&hide=1&rollout=1&mean=heads&layer=1&tag=mine"
    shown, plain = (read(resolve(served, "lessons", query)) for query in (left, ""))
    assert shown == plain


def test_a_lesson_keeps_the_model(served: ServedStore) -> None:
    model = sorted(served.snapshot(None).models)[-1]
    found = read(resolve(served, "lessons", f"model={model}")).lessons
    assert {f"model={model}" in href for lesson in found for _, href in lesson.links} == {True}


def test_where_tokens_see_no_later_token_lessons_ask_for_attention_to_earlier_ones(few_store: str) -> None:
    found = {lesson.title: lesson for lesson in changed_lessons(few_store, masks=[Mask(causal=True)] * 2)}
    pair, capybara = found["Sentence B attends to sentence A"], found["The brown capybara"]
    assert "lines from B to A:" in pair.look_for
    assert "&pair=ba" in pair.links[0][1]
    assert "from every piece" in capybara.look_for
    assert "&marks=capybara-brown" in capybara.links[0][1]
    assert "“wide”" not in found["What “it” looks at"].look_for


def test_without_a_head_that_looks_back_there_is_no_lesson_of_one(few_store: str) -> None:
    corpus = resolve(ServedStore(few_store), "lessons", "").corpus
    assert "previous" not in corpus.head_labels.values
    assert BACK not in {lesson.title for lesson in lessons(few_store)}


def test_the_head_that_looks_back_is_that_of_the_patterns(few_store: str) -> None:
    corpus = resolve(ServedStore(few_store), "lessons", "").corpus
    patterns = [corpus.pattern(sentence).values for sentence in range(corpus.n_sentences)]
    back = np.mean([np.diagonal(each, -1, 2, 3).sum(-1) / each.shape[-1] for each in patterns], axis=0)
    layer, head = np.unravel_index(back.argmax(), back.shape)
    labels = corpus.head_labels.copy(data=np.full(back.shape, "previous"))
    assert changed_lessons(few_store, head_labels=labels)[0].look_for.startswith(
        f"{head_name(int(layer), int(head))} gives {100 * back.max():.1f}%"
    )


def test_coreference_without_annotation_opens_an_example(bank_client: FlaskClient) -> None:
    shown = above(bank_client, "/relations", "")
    assert "text=The+animal+did+not+cross+the+street+because+it+was+too+tired." in shown
