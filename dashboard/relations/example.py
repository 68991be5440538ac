"""Heads by example: a reader marks pairs of words, and the heads that make these links come first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.relations.data import WordOfSentence, word_of_sentence
from dashboard.relations.linked_sentences import (
    BestSentence,
    CommonKind,
    MostLinked,
    WordPair,
    best_sentence,
    common_kind,
    most_linked,
    read_best_sentence,
    read_most_linked,
    show_link,
)
from dashboard.ui.controls import action, info, number, ruler, rulers_of
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.work import watched
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.attention import merge_words
from store.phrases import many
from store.schema.model import head_name
from store.text import Window
from store.words import ANY

#: Fields of a link that make a hypothesis, without the field of the unit.
HYPOTHESIS_FIELDS = ("hquery", "hkey", "hoffset", "hjoined", "hlabel")
#: Number of listed heads, and most marked pairs.
LISTED, MOST_MARKED = 10, 20
#: Columns of the word table: first wordpiece of each word, and the wordpiece after its last.
_BOUNDS = ("token_start", "token_stop")
_MEANING = (
    "Heads are ranked by the number of marked pairs that they link, then by the mean attention from the first word to the second; "
    "of all other words of the sentence, the linked one gets most. Attention to a word is the sum over its wordpieces, from a word "
    "their mean."
)
_NOTHING_IN_COMMON = (
    "No dependency joins every marked pair, and the second words have no part of speech in common. Mark pairs of one kind to see "
    "the sentences in which each head makes most such links."
)


@dataclass(frozen=True)
class MarkedPair:
    """Two words of a sentence by their index in the sentence; a head links them where the first attends most to the second."""

    sentence: int
    source: int
    target: int


@dataclass(frozen=True)
class RankedHead:
    """A head, the number of marked pairs that it links, and its mean attention weight over all marked pairs."""

    layer: int
    head: int
    linked: int
    weight: float


def parse_marks(corpus: Corpus, text: str | None) -> tuple[MarkedPair, ...]:
    """The marked pairs of a link, `sentence:from-to.from-to;sentence:from-to`; pairs that the corpus lacks are left out."""
    return tuple(dict.fromkeys(pair for pair in _written(text or "") if _stands(corpus, pair)))[:MOST_MARKED]


def _written(text: str) -> Iterator[MarkedPair]:
    for part in filter(None, text.split(";")):
        sentence, _, pairs = part.partition(":")
        for pair in pairs.split("."):
            source, _, target = pair.partition("-")
            yield MarkedPair(int(sentence), int(source), int(target))


def _stands(corpus: Corpus, pair: MarkedPair) -> bool:
    if pair.sentence >= corpus.n_sentences or pair.source == pair.target:
        return False
    rows = corpus.words.rows(pair.sentence)
    return max(pair.source, pair.target) < rows.stop - rows.start


def written_marks(pairs: Sequence[MarkedPair]) -> str | None:
    """Marked pairs as a link holds them; None without pairs."""
    sentences: dict[int, list[str]] = {}
    for pair in pairs:
        sentences.setdefault(pair.sentence, []).append(f"{pair.source}-{pair.target}")
    return ";".join(f"{sentence}:{'.'.join(own)}" for sentence, own in sentences.items()) or None


def rank_heads(corpus: Corpus, pairs: Sequence[MarkedPair]) -> list[RankedHead]:
    """Every head; heads that link most pairs come first, of equal heads those with the largest mean weight."""
    linked = np.zeros((corpus.layers, corpus.heads), np.int64)
    weight = np.zeros((corpus.layers, corpus.heads))
    for pair in pairs:
        row = _weights(corpus, pair.sentence, pair.source)
        weight += row[..., pair.target] / len(pairs)
        others = np.delete(row, pair.source, axis=-1)
        is_most = others.argmax(axis=-1) == pair.target - (pair.target > pair.source)
        linked += is_most & (others.max(axis=-1) > 0)  # the first word of a causal model sees no other
    heads = [
        RankedHead(layer, head, int(linked[layer, head]), float(weight[layer, head]))
        for layer, head in np.ndindex(*linked.shape)
    ]
    return sorted(heads, key=lambda each: (-each.linked, -each.weight))


@cached
def _weights(corpus: Corpus, sentence: int, word: int) -> NDArray[np.float32]:
    """Attention of one word of a sentence to all of its words: (layer, head, word)."""
    starts, stops = (corpus.words.table[name].values[corpus.words.rows(sentence)] for name in _BOUNDS)
    words = [tuple(range(*bounds)) for bounds in zip(starts.tolist(), stops.tolist(), strict=True)]
    rows = corpus.weights(sentence, queries=np.array(words[word]))
    return merge_words(rows, [tuple(range(len(words[word])))], words)[..., 0, :]


def kind_of(corpus: Corpus, pairs: Sequence[MarkedPair]) -> CommonKind:
    """What the marked pairs have in common."""
    starts = [corpus.words.rows(pair.sentence).start for pair in pairs]
    return common_kind(
        corpus.words,
        [WordPair(start + pair.source, start + pair.target) for start, pair in zip(starts, pairs, strict=True)],
    )


@dataclass(frozen=True)
class Marking:
    """Words of the link's sentence, which a reader can mark; the number of sentences; and the marked pairs."""

    words: list[str]
    sentences: int
    pairs: tuple[MarkedPair, ...]

    @property
    def is_full(self) -> bool:
        """Whether no other pair can be marked."""
        return len(self.pairs) >= MOST_MARKED


def read_marking(corpus: Corpus, state: LinkState) -> Marking:
    """The words and the marked pairs of a link."""
    words = list(corpus.words.texts(corpus.words.rows(state.sentence)))
    return Marking(words, corpus.n_sentences, parse_marks(corpus, state.example))


def by_example(state: LinkState, marking: Marking, heads: html.Div | None) -> list[object]:
    """The sentence whose words can be marked, the marked pairs, and the heads that make these links."""
    last, state = marking.sentences - 1, _with_possible_start(state, marking)
    return [
        html.H2(["Heads by example", info("heads by example", _MEANING)], id="by-example"),
        html.Div([number("sentence", "Sentence", state.sentence, 0, last, 1)], className="controls"),
        html.P(_what_to_do(state, marking), className="caption", role="status"),
        *_ruler(state, marking),
        html.P(_words(state, marking), className="pair words"),
        *([] if heads is None else [heads]),
    ]


def _with_possible_start(state: LinkState, marking: Marking) -> LinkState:
    """The link without a chosen first word where the sentence has no such word, or no other pair can be marked."""
    impossible = state.start is not None and (marking.is_full or state.start >= len(marking.words))
    return state.with_(start=None) if impossible else state


def _what_to_do(state: LinkState, marking: Marking) -> str:
    if marking.is_full:
        return f"{many(len(marking.pairs), 'pair')} are marked. Remove one to mark another."
    if state.start is None:
        return "Choose a word, then the word that it should attend to. Pairs of several sentences count together."
    word = marking.words[state.start]
    return f"Choose the word that “{word}” should attend to; or “{word}” again to choose another."


def _words(state: LinkState, marking: Marking) -> list[object]:
    """The words of the sentence; each is a button that marks the word while another pair can be marked."""
    own, window = _marked_here(state, marking), window_of(state, marking)
    marks = {pair.source: "dependent" for pair in own} | {pair.target: "governor" for pair in own}
    marks |= {} if state.start is None else {state.start: "dependent"}
    parts: list[object] = []
    for word, spelled in window.of(list(enumerate(marking.words))):
        shown = html.Mark(spelled, className=marks[word]) if word in marks else spelled
        button = shown if marking.is_full else action(shown, _chosen(state, marking.pairs, word), look="word")
        parts += [button, " "]
    return parts


def _marked_here(state: LinkState, marking: Marking) -> list[MarkedPair]:
    return [pair for pair in marking.pairs if pair.sentence == state.sentence]


def window_of(state: LinkState, marking: Marking) -> Window:
    """The window of a long sentence: that of the link, else around the chosen word or the first marked word."""
    if state.window is not None:
        return Window.at(state.window, len(marking.words))
    first = next((pair.source for pair in _marked_here(state, marking)), 0) if state.start is None else state.start
    return Window.around(min(first, max(0, len(marking.words) - 1)), len(marking.words))


def _ruler(state: LinkState, marking: Marking) -> list[html.Div]:
    window = window_of(state, marking)
    name = window.name.replace("tokens", "words", 1).capitalize()
    return [] if window.is_whole else [rulers_of(ruler("Words", "window", state.window, window, name))]


def _chosen(state: LinkState, pairs: tuple[MarkedPair, ...], word: int) -> str:
    """The link after this word is chosen."""
    if state.start is None:
        return state.with_(start=word).href
    if state.start == word:
        return state.with_(start=None).href
    added = (*pairs, MarkedPair(state.sentence, state.start, word))
    return state.with_(start=None, example=written_marks(added)).href


@dataclass(frozen=True)
class MarkedHeads:
    """The heads that link most of the marked pairs.

    Attributes
    ----------
    pairs, spelled
        The marked pairs, and the two words of each.
    first
        The first word of the first pair.
    total
        How many heads the model has.
    heads, best
        The first heads, and for each the sentence in which it makes most links like the marked pairs.
    kind, most
        What the pairs have in common, and the sentences of the shown head; `most` is None for pairs with nothing in common.
    """

    pairs: tuple[MarkedPair, ...]
    spelled: list[tuple[str, str]]
    first: WordOfSentence
    total: int
    heads: list[RankedHead]
    best: list[BestSentence | None]
    kind: CommonKind
    most: MostLinked | None


def read_marked(corpus: Corpus, state: LinkState) -> MarkedHeads:
    """The heads that link most of the marked pairs of a link, at least one."""
    pairs = parse_marks(corpus, state.example)
    heads, kind = rank_heads(corpus, pairs)[:LISTED], kind_of(corpus, pairs)
    shown = (state.layer, state.head) if state.examples == "chosen" else (heads[0].layer, heads[0].head)
    texts = [corpus.words.texts(corpus.words.rows(pair.sentence)) for pair in pairs]
    return MarkedHeads(
        pairs=pairs,
        spelled=[(words[pair.source], words[pair.target]) for words, pair in zip(texts, pairs, strict=True)],
        first=word_of_sentence(corpus, pairs[0].sentence, pairs[0].source),
        total=corpus.layers * corpus.heads,
        heads=heads,
        best=[
            read_best_sentence(corpus, kind, each.layer, each.head) if kind.says_something else None
            for each in watched(heads)
        ],
        kind=kind,
        most=read_most_linked(corpus, kind, *shown) if kind.says_something else None,
    )


def draw_marked(state: LinkState, marked: MarkedHeads) -> list[object]:
    """The marked pairs, the heads that link most of them, and what they have in common in the corpus."""
    pairs = html.P(["Marked: ", *_removable(state, marked)])
    if marked.most is None:
        return [pairs, _table(state, marked), html.P(_NOTHING_IN_COMMON, className="caption")]
    return [
        pairs,
        html.P(["In common: ", *_kind(state, marked.kind)], className="caption"),
        _table(state, marked),
        html.P(f"The first {len(marked.heads)} of {many(marked.total, 'head')}.", className="caption"),
        *most_linked(state, marked.most),
    ]


MARKED = DeferredPart(
    "marked",
    "the heads that link the marked pairs",
    lambda context: draw_marked(context.state, read_marked(context.corpus, context.state)),
    ("example", "examples", "layer", "head"),
    940,
)


def _table(state: LinkState, marked: MarkedHeads) -> html.Div:
    """The table of the ranked heads; with their sentences where the marked pairs have something in common."""
    titles = ("head", f"links, of {len(marked.pairs)}", "mean weight in %")
    beside = ("most such links in a sentence", "sentences") if marked.most else ()
    rows = [
        html.Tr([*_head_row(state, each, marked.first), *_sentences(state, marked, each, best)])
        for each, best in zip(marked.heads, marked.best, strict=True)
    ]
    table = html.Table([heading((*titles, *beside), titles[1:]), html.Tbody(rows)], className="rows narrow")
    return scrolling(table, "Heads ranked by the marked pairs")


def _sentences(state: LinkState, marked: MarkedHeads, ranked: RankedHead, best: BestSentence | None) -> list[html.Td]:
    if marked.most is None:
        return []
    own = ranked.layer, ranked.head
    return [best_sentence(state, best, own), show_link(state, own, marked.most.head)]


def _removable(state: LinkState, marked: MarkedHeads) -> list[object]:
    """Each pair with a button that removes it."""
    parts: list[object] = []
    for pair, (source, target) in zip(marked.pairs, marked.spelled, strict=True):
        left = tuple(each for each in marked.pairs if each != pair)
        href, name = state.with_(example=written_marks(left)).href, f"{source} -> {target}"
        remove = action("✕", href, title=f"Remove {name}", look="action remove")
        parts += [f"{name} (sentence {pair.sentence}) ", remove, "  "]
    return parts


def _head_row(state: LinkState, ranked: RankedHead, first: WordOfSentence) -> list[html.Td]:
    href = first.href(state, (ranked.layer, ranked.head))
    return [
        html.Td(dcc.Link(head_name(ranked.layer, ranked.head), href=href)),
        html.Td(f"{ranked.linked}", className="number"),
        html.Td(f"{100 * ranked.weight:.1f}", className="number"),
    ]


def _kind(state: LinkState, kind: CommonKind) -> list[object]:
    """What the marked pairs have in common, in words, with a link that tests it.

    Where a dependency joins every pair, also a link to the heads at this pattern.
    """
    test = _test(state, kind)
    if not kind.joined:
        return [f"{kind.pattern}, the parts of speech of the marked words. No dependency joins every pair.", *test]
    label = f"joined by {kind.label}" if kind.label else "joined by a dependency"
    link = dcc.Link("All heads at this pattern", href=state.with_(relation=kind.pattern).href)
    return [f"{kind.pattern}, the parts of speech of the marked words, {label}. ", link, ".", *test]


def _test(state: LinkState, kind: CommonKind) -> list[object]:
    """A link that tests what the pairs have in common as a hypothesis; where a hypothesis cannot say it, why not."""
    if kind.joined and kind.up is None:
        return [" In some pairs the first word depends on the second, in others not: mark one kind to test it."]
    any_label = " with any label, as their labels differ" if kind.joined and not kind.label else ""
    link = action("Test as a hypothesis", state.with_(**as_hypothesis(kind)).href, look="link")
    return [" ", link, f"{any_label}."]


def as_hypothesis(kind: CommonKind) -> dict[str, str | None]:
    """Fields of a link that test what the marked pairs have in common; where labels differ, a dependency of any label."""
    ends = {"hquery": kind.first, "hkey": kind.last}
    label = kind.label.lower().partition(":")[0] or None
    joined = {"hjoined": "depends" if kind.up else "governs", "hlabel": label}
    fields = {name: end for name, end in ends.items() if end != ANY} | (joined if kind.joined else {})
    return dict.fromkeys(HYPOTHESIS_FIELDS) | fields
