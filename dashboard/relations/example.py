"""Heads by example: a reader marks pairs of words, and the heads that make these links come first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.relations.data import sentence_link
from dashboard.relations.kinds import CommonKind, WordPair, common_kind
from dashboard.relations.linked_sentences import best_sentence, most_linked, show_link
from dashboard.ui.controls import action, info, number
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.work import watched
from dashboard.web.context import Context
from dashboard.web.results import cached
from store import Corpus
from store.phrases import many
from store.schema.model import head_name

#: Heads that are listed, and most pairs that can be marked.
LISTED, MOST = 10, 20
_MEANING = (
    "Heads are ranked by the number of marked pairs that they link, then by the mean attention from the first word to the second; "
    "of all other words of the sentence, the linked one gets most. Attention to a word is the sum over its wordpieces, from a word "
    "their mean."
)


_NOTHING_IN_COMMON = (
    "The marked pairs have neither parts of speech nor a dependency in common. Mark pairs of one kind to see the sentences in "
    "which each head makes most such links."
)


@dataclass(frozen=True)
class MarkedPair:
    """Two words of a sentence by their index in it, the first of which is to attend to the second."""

    sentence: int
    source: int
    target: int


@dataclass(frozen=True)
class RankedHead:
    """How many of the marked pairs a head links, and the mean weight of all of them."""

    layer: int
    head: int
    linked: int
    weight: float


def parse_marks(corpus: Corpus, text: str | None) -> tuple[MarkedPair, ...]:
    """The marked pairs of a link, `sentence:from-to.from-to;sentence:from-to`; those that the corpus has not are left out."""
    return tuple(dict.fromkeys(pair for pair in _written(text or "") if _stands(corpus, pair)))[:MOST]


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
    """Marked pairs as a link holds them; None for none."""
    sentences: dict[int, list[str]] = {}
    for pair in pairs:
        sentences.setdefault(pair.sentence, []).append(f"{pair.source}-{pair.target}")
    return ";".join(f"{sentence}:{'.'.join(own)}" for sentence, own in sentences.items()) or None


def rank_heads(corpus: Corpus, pairs: Sequence[MarkedPair]) -> list[RankedHead]:
    """Every head, the one that links most of the pairs first, of equal ones the one with most weight on them."""
    linked = np.zeros((corpus.layers, corpus.heads), np.int64)
    weight = np.zeros((corpus.layers, corpus.heads))
    for pair in pairs:
        row = _weights(corpus, pair.sentence, pair.source)
        weight += row[..., pair.target] / len(pairs)
        linked += np.delete(row, pair.source, axis=-1).argmax(axis=-1) == pair.target - (pair.target > pair.source)
    heads = [
        RankedHead(layer, head, int(linked[layer, head]), float(weight[layer, head]))
        for layer, head in np.ndindex(*linked.shape)
    ]
    return sorted(heads, key=lambda each: (-each.linked, -each.weight))


@cached
def _weights(corpus: Corpus, sentence: int, word: int) -> NDArray[np.float32]:
    """Attention of one word of a sentence to all of its words: (layer, head, word)."""
    return corpus.word_pattern(sentence).values[..., word, :].copy()


def by_example(context: Context) -> list[object]:
    """The sentence whose words can be marked, the marked pairs, and the heads that make these links."""
    corpus, state = context.corpus, context.state
    pairs = parse_marks(corpus, state.example)
    return [
        html.H2(["Heads by example", info("heads by example", _MEANING)], id="by-example"),
        html.Div([number("sentence", "Sentence", state.sentence, 0, corpus.n_sentences - 1, 1)], className="controls"),
        html.P(_what_to_do(context), className="caption", role="status"),
        html.P(_words(context, pairs), className="pair words"),
        *([deferred(context, MARKED)] if pairs else []),
    ]


def _what_to_do(context: Context) -> str:
    start = context.state.start
    if start is None:
        return "Choose a word, then the word that it should attend to. Pairs of several sentences count together."
    words = context.corpus.words.texts(context.corpus.words.rows(context.state.sentence))
    word = words[start] if start < len(words) else ""
    return f"Choose the word that “{word}” should attend to; or “{word}” again to choose another."


def _words(context: Context, pairs: tuple[MarkedPair, ...]) -> list[object]:
    """The words of the sentence, each a button that marks it."""
    rows = context.corpus.words.rows(context.state.sentence)
    own = [pair for pair in pairs if pair.sentence == context.state.sentence]
    marks = {pair.source: "dependent" for pair in own} | {pair.target: "governor" for pair in own}
    marks |= {} if context.state.start is None else {context.state.start: "dependent"}
    parts: list[object] = []
    for word, spelled in enumerate(context.corpus.words.texts(rows)):
        shown = html.Mark(spelled, className=marks[word]) if word in marks else spelled
        parts += [action(shown, _chosen(context, pairs, word), look="word"), " "]
    return parts


def _chosen(context: Context, pairs: tuple[MarkedPair, ...], word: int) -> str:
    """The link after this word is chosen."""
    state = context.state
    if state.start is None:
        return state.with_(start=word).href
    if state.start == word:
        return state.with_(start=None).href
    added = (*pairs, MarkedPair(state.sentence, state.start, word))
    return state.with_(start=None, example=written_marks(added)).href


def _marked(context: Context) -> list[object]:
    """The marked pairs, the heads that link most of them, and what they have in common in the corpus."""
    pairs = parse_marks(context.corpus, context.state.example)
    heads, kind = rank_heads(context.corpus, pairs)[:LISTED], kind_of(context.corpus, pairs)
    total = many(context.corpus.layers * context.corpus.heads, "head")
    parts = [html.P(["Marked: ", *_removable(context, pairs)])]
    if not kind.says_something:
        return [*parts, _table(context, pairs, heads), html.P(_NOTHING_IN_COMMON, className="caption")]
    shown = _shown(context, heads)
    return [
        *parts,
        html.P(["In common: ", *_kind(context, kind)], className="caption"),
        _table(context, pairs, heads, kind),
        html.P(f"The first {len(heads)} of {total}.", className="caption"),
        *most_linked(context, kind, *shown),
    ]


MARKED = DeferredPart(
    "marked", "the heads that link the marked pairs", _marked, ("example", "examples", "layer", "head"), 940
)


def _shown(context: Context, heads: list[RankedHead]) -> tuple[int, int]:
    """The head whose sentences are listed: the first, or the chosen one."""
    state = context.state
    return (state.layer, state.head) if state.examples == "chosen" else (heads[0].layer, heads[0].head)


def _table(
    context: Context, pairs: tuple[MarkedPair, ...], heads: list[RankedHead], kind: CommonKind | None = None
) -> html.Div:
    """The ranked heads; where the marked pairs have something in common, with their sentences."""
    titles = ("head", f"links, of {len(pairs)}", "mean weight in %")
    beside = ("most such links in a sentence", "sentences") if kind else ()
    rows = [
        html.Tr([*_head_row(context, each, pairs[0]), *_sentences(context, kind, each, heads)])
        for each in watched(heads)
    ]
    table = html.Table([heading((*titles, *beside), titles[1:]), html.Tbody(rows)], className="rows narrow")
    return scrolling(table, "Heads ranked by the marked pairs")


def _sentences(context: Context, kind: CommonKind | None, ranked: RankedHead, heads: list[RankedHead]) -> list[html.Td]:
    if kind is None:
        return []
    own = ranked.layer, ranked.head
    return [best_sentence(context, kind, *own), show_link(context, *own, _shown(context, heads))]


def _removable(context: Context, pairs: tuple[MarkedPair, ...]) -> list[object]:
    """Each pair with a button that removes it."""
    parts: list[object] = []
    for pair in pairs:
        words = context.corpus.words.texts(context.corpus.words.rows(pair.sentence))
        left = tuple(each for each in pairs if each != pair)
        href = context.state.with_(example=written_marks(left)).href
        name = f"{words[pair.source]} -> {words[pair.target]}"
        remove = action("✕", href, title=f"Remove {name}", look="action remove")
        parts += [f"{name} (sentence {pair.sentence}) ", remove, "  "]
    return parts


def _head_row(context: Context, ranked: RankedHead, pair: MarkedPair) -> list[html.Td]:
    href = sentence_link(context, pair.sentence, pair.source, ranked.layer, ranked.head)
    return [
        html.Td(dcc.Link(head_name(ranked.layer, ranked.head), href=href)),
        html.Td(f"{ranked.linked}", className="number"),
        html.Td(f"{100 * ranked.weight:.1f}", className="number"),
    ]


def kind_of(corpus: Corpus, pairs: Sequence[MarkedPair]) -> CommonKind:
    """What the marked pairs have in common."""
    starts = [corpus.words.rows(pair.sentence).start for pair in pairs]
    return common_kind(
        corpus.words,
        [WordPair(start + pair.source, start + pair.target) for start, pair in zip(starts, pairs, strict=True)],
    )


def _kind(context: Context, kind: CommonKind) -> list[object]:
    """What the marked pairs have in common, in words; a pattern that a dependency joins with a link to its heads."""
    if not kind.joined:
        return [f"{kind.pattern}, the parts of speech of the marked words. No dependency joins every pair."]
    label = f"joined by {kind.label}" if kind.label else "joined by a dependency"
    link = dcc.Link("All heads at this pattern", href=context.state.with_(relation=kind.pattern).href)
    return [f"{kind.pattern}, the parts of speech of the marked words, {label}. ", link, "."]
