"""Lessons that a store has something for: a title, what to look for, and links to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboard.relations.data import BestHead, known_relations
from dashboard.relations.found_words import PRONOUN
from dashboard.sentence.heads import RANKING
from dashboard.statistics.heads import kinds_of, mean_divergence, special_statistic
from dashboard.ui.text import in_brackets, spell
from dashboard.web.state import LinkState
from store import Corpus
from store.repository.errors import NotIngested
from store.schema.model import head_name
from store.words import COREFERENCE

#: Labels of a direct object in the known schemes of grammar.
_OBJECTS = ("dobj", "obj")
#: Sentences that lessons type. The capybara is the sentence of a reader whose question this page answers.
_CAPYBARA, _ITS_PAIR = "The brown capybara is sleeping now.", ("brown", "capybara")
_ALIKE = ("I liked the film very much.", "I liked the book very much.")


@dataclass(frozen=True)
class Lesson:
    """A title, what to look for, and links with their texts; the first link is the lesson's."""

    title: str
    look_for: str
    links: Sequence[tuple[str, str]]


def lessons_of(corpus: Corpus, state: LinkState, others: Sequence[str]) -> Iterator[Lesson]:
    """The lessons for a model and its corpus; `others` are models on the same corpus.

    Links keep only the model and the snapshot of the state: the words of a lesson do not mention what a reader chose elsewhere.
    """
    state = LinkState(model=state.model, snapshot=state.snapshot)
    yield from _previous_token(corpus, state)
    best = {row.relation: row for row in known_relations(corpus)}
    yield from _reference(state, best)
    yield from _object(state, best)
    if _is_english(corpus):
        yield from _typed(state, is_causal=corpus.masks[0].causal)
    if corpus.views:
        yield _distance(state)
    yield _figures(corpus, state)
    if corpus.token_sets:
        yield _mixing(state)
    if others:
        yield _two_models(state, others[0])


def _previous_token(corpus: Corpus, state: LinkState) -> Iterator[Lesson]:
    kind = next((kind for kind in kinds_of(corpus) if kind.label == "previous"), None)
    if kind:
        (layer, head), share = kind.heads[0], spell(kind.values[0], "share")
        yield Lesson(
            "A head that looks one token back",
            f"{head_name(layer, head)} gives {share} of its attention to the previous token. In a sentence its lines go one row up; "
            "in its picture each key lies beside the query that follows it.",
            [
                ("A sentence", state.with_(layer=layer, head=head, heads=str(head)).on("sentence").href),
                ("Its picture", _of_head(state, layer, head).href),
            ],
        )


def _reference(state: LinkState, best: dict[str, BestHead]) -> Iterator[Lesson]:
    if row := best.get(COREFERENCE):
        yield Lesson(
            "What a pronoun refers to",
            f"{head_name(row.layer, row.head)} finds the antecedent of {100 * row.accuracy:.0f}% of the mentions; the most frequent "
            f"distance between the two words finds {100 * row.offset_accuracy:.0f}%. Compare the sentences that it gets right with those that it does not.",
            [("The sentences", _of_relation(state, row))],
        )


def _object(state: LinkState, best: dict[str, BestHead]) -> Iterator[Lesson]:
    row = next((best[name] for name in _OBJECTS if name in best), None)
    row = row or next((row for name, row in best.items() if name != COREFERENCE), None)
    if row:
        yield Lesson(
            f"A head that follows grammar: {row.relation}{in_brackets(row.relation)}",
            f"{head_name(row.layer, row.head)} finds {100 * row.accuracy:.0f}% of these pairs of words, always guessing the most frequent "
            f"distance {100 * row.offset_accuracy:.0f}%. Look for a sentence in which the two words stand far apart.",
            [("The pairs", _of_relation(state, row))],
        )


def _typed(state: LinkState, *, is_causal: bool) -> Iterator[Lesson]:
    """Lessons on typed sentences. Where tokens see no later token, attention goes back: from B to A, from a wordpiece to a word before."""
    sentence = state.on("sentence")
    query, key = ("B", "A") if is_causal else ("A", "B")
    pieces = (
        "attend from every piece, which from the first" if is_causal else "attend to every piece, which to the first"
    )
    marks = "-".join(reversed(_ITS_PAIR) if is_causal else _ITS_PAIR)
    # A causal model does not see “tired” from “it”, which comes before.
    changed = "" if is_causal else " Type “wide” in place of “tired”: does the order change?"
    yield Lesson(
        "What “it” looks at",
        f"Click “it” on the left, then choose “animal” as Key under “{RANKING}”: a table ranks every head by the weight.{changed}",
        [("The sentence", sentence.with_(text=PRONOUN, words="1").href)],
    )
    yield Lesson(
        f"Sentence {query} attends to sentence {key}",
        f"Two sentences that differ in one word. Show only lines from {query} to {key}: "
        "which heads go from a word to the same word of the other sentence?",
        [("Both sentences", sentence.with_(text=_ALIKE[0], second=_ALIKE[1], pair=f"{query}{key}".lower()).href)],
    )
    yield Lesson(
        "The brown capybara",
        "Most models split the rare word into wordpieces. The pair of “brown” and each of them is marked in a colour of its own. "
        f"Which heads {pieces} alone?",
        [("The sentence", sentence.with_(text=_CAPYBARA, marks=marks).href)],
    )


def _distance(state: LinkState) -> Lesson:
    return Lesson(
        "Does near mean attended?",
        "Queries and keys are drawn so that a key near a query gets much of its attention. The first chart is before normalisation, the second after: "
        "is the band of dots narrower there, so that distance orders keys as attention does?",
        [("The charts of a head", _of_head(state, state.layer, state.head).with_(tab="distance").href)],
    )


def _figures(corpus: Corpus, state: LinkState) -> Lesson:
    statistics = state.on("statistics")
    links = [
        ("Figure 1: patterns of heads", state.on("sentence").with_(show="model").href),
        ("Figure 2: special tokens by layer", statistics.with_(statistic=special_statistic(corpus)).href),
        ("Figure 4: entropy by layer", statistics.with_(statistic="entropy").href),
    ]
    if _has_divergence(corpus):
        links.append(("Figure 6: heads that attend alike", state.on("map").href))
    return Lesson(
        "The figures of “What Does BERT Look At?”",
        "Clark et al. (2019) drew them for BERT; here are those of this model and this corpus. In which layers does attention go to a special token?",
        links,
    )


def _has_divergence(corpus: Corpus) -> bool:
    """Whether page Head map has something to draw."""
    try:
        mean_divergence(corpus)
    except NotIngested:
        return False
    return True


def _mixing(state: LinkState) -> Lesson:
    return Lesson(
        "How features mix from layer to layer",
        "The same tokens at every place in the model. Do the same wordpieces stand together in the first panels, words of similar "
        "use in the last? Colour by position, then by label: what is visible where?",
        [("All places", state.on("features").href)],
    )


def _two_models(state: LinkState, other: str) -> Lesson:
    return Lesson(
        "Two models on the same sentences",
        "Heads by how much their attention differs between the models, most first. Is it the last layers that differ most?",
        [("The comparison", state.on("compare").with_(other=other).href)],
    )


def _of_head(state: LinkState, layer: int, head: int) -> LinkState:
    return state.on("head").with_(layer=layer, head=head)


def _of_relation(state: LinkState, row: BestHead) -> str:
    chosen = state.on("relations").with_(layer=row.layer, head=row.head, examples="chosen")
    return chosen.with_(relation=row.relation, direction=row.direction).href


def _is_english(corpus: Corpus) -> bool:
    """Whether the corpus looks like text that the typed sentences belong to: Latin letters, most of them small."""
    letters = [letter for letter in corpus.counted_text(0) if letter.isalpha()]
    small = sum(letter.isascii() and letter.islower() for letter in letters)
    return small > len(letters) / 2
