"""Heads by example: a reader marks pairs of words, and the heads that make these links come first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.relations.data import sentence_link
from dashboard.ui.controls import info, number
from dashboard.ui.tables import heading
from dashboard.web.context import Context
from store import Corpus
from store.schema.model import head_name
from store.wording import many

#: Heads that are listed, and most pairs that can be marked.
LISTED, MOST = 10, 20
_MEANING = (
    "Heads are ranked by the number of marked pairs that they link, then by the mean attention from the first word to the second; "
    "of all other words of the sentence, the linked one gets most. Attention to a word is the sum over its wordpieces, from a word "
    "their mean."
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
    patterns: dict[int, NDArray[np.float32]] = {}
    for pair in pairs:
        if pair.sentence not in patterns:
            patterns[pair.sentence] = corpus.word_pattern(pair.sentence).values
        row = patterns[pair.sentence][..., pair.source, :].copy()
        weight += row[..., pair.target] / len(pairs)
        row[..., pair.source] = -1
        linked += row.argmax(axis=-1) == pair.target
    heads = [
        RankedHead(layer, head, int(linked[layer, head]), float(weight[layer, head]))
        for layer, head in np.ndindex(*linked.shape)
    ]
    return sorted(heads, key=lambda each: (-each.linked, -each.weight))


def patterns_of(corpus: Corpus, pairs: Sequence[MarkedPair]) -> list[str]:
    """Patterns that the marked pairs have where a dependency joins their words, each once: `ADJ -> NOUN`."""
    table, found = corpus.words.table, []
    names = corpus.words.names("part_of_speech")
    for pair in pairs:
        first = corpus.words.rows(pair.sentence).start
        governor = table.governor.values[first : first + max(pair.source, pair.target) + 1]
        if governor[pair.source] == pair.target or governor[pair.target] == pair.source:
            codes = (int(table.part_of_speech.values[first + word]) for word in (pair.source, pair.target))
            found.append(" -> ".join(names[code] if code >= 0 else "*" for code in codes))
    return list(dict.fromkeys(found))


def by_example(context: Context) -> list[object]:
    """The sentence whose words can be marked, the marked pairs, and the heads that make these links."""
    corpus, state = context.corpus, context.state
    pairs = parse_marks(corpus, state.example)
    return [
        html.H2(["Heads by example", info("heads by example", _MEANING)], id="by-example"),
        html.Div([number("sentence", "Sentence", state.sentence, 0, corpus.n_sentences - 1, 1)], className="controls"),
        html.P(_what_to_do(context), className="caption", role="status"),
        html.P(_words(context, pairs), className="pair words"),
        *(_marked(context, pairs) if pairs else []),
    ]


def _what_to_do(context: Context) -> str:
    start = context.state.start
    if start is None:
        return "Choose a word, then the word that it should attend to. Pairs of several sentences count together."
    words = context.corpus.words.texts(context.corpus.words.rows(context.state.sentence))
    word = words[start] if start < len(words) else ""
    return f"Choose the word that “{word}” should attend to; or “{word}” again to choose another."


def _words(context: Context, pairs: tuple[MarkedPair, ...]) -> list[object]:
    """The words of the sentence, each a link that marks it."""
    rows = context.corpus.words.rows(context.state.sentence)
    own = [pair for pair in pairs if pair.sentence == context.state.sentence]
    marks = {pair.source: "dependent" for pair in own} | {pair.target: "governor" for pair in own}
    marks |= {} if context.state.start is None else {context.state.start: "dependent"}
    parts: list[object] = []
    for word, spelled in enumerate(context.corpus.words.texts(rows)):
        shown = html.Mark(spelled, className=marks[word]) if word in marks else spelled
        parts += [dcc.Link(shown, href=_chosen(context, pairs, word), className="word"), " "]
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


def _marked(context: Context, pairs: tuple[MarkedPair, ...]) -> list[object]:
    heads = rank_heads(context.corpus, pairs)[:LISTED]
    titles = ("head", f"links, of {len(pairs)}", "mean weight in %")
    rows = [html.Tr(_head_row(context, each, pairs[0])) for each in heads]
    total = context.corpus.layers * context.corpus.heads
    return [
        html.P(["Marked: ", *_removable(context, pairs)]),
        html.Table([heading(titles, titles[1:]), html.Tbody(rows)], className="rows narrow"),
        html.P(f"The first {len(heads)} of {many(total, 'head')}.", className="caption"),
        *_same_pattern(context, pairs),
    ]


def _removable(context: Context, pairs: tuple[MarkedPair, ...]) -> list[object]:
    """Each pair with a link that removes it."""
    parts: list[object] = []
    for pair in pairs:
        words = context.corpus.words.texts(context.corpus.words.rows(pair.sentence))
        left = tuple(each for each in pairs if each != pair)
        href = context.state.with_(example=written_marks(left)).href
        name = f"{words[pair.source]} -> {words[pair.target]}"
        remove = dcc.Link("✕", href=href, title=f"Remove {name}", className="remove")
        parts += [f"{name} (sentence {pair.sentence}) ", remove, "  "]
    return parts


def _head_row(context: Context, ranked: RankedHead, pair: MarkedPair) -> list[html.Td]:
    href = sentence_link(context, pair.sentence, pair.source, ranked.layer, ranked.head)
    return [
        html.Td(dcc.Link(head_name(ranked.layer, ranked.head), href=href)),
        html.Td(f"{ranked.linked}", className="number"),
        html.Td(f"{100 * ranked.weight:.1f}", className="number"),
    ]


def _same_pattern(context: Context, pairs: tuple[MarkedPair, ...]) -> list[object]:
    """Links to the same pairs in the whole corpus, by the parts of speech of the marked words."""
    patterns = patterns_of(context.corpus, pairs)
    if not patterns:
        text = "No dependency joins the words of a marked pair, so the corpus cannot be searched for the like."
        return [html.P(text, className="caption")]
    links = [dcc.Link(name, href=replace(context.state, relation=name).href) for name in patterns]
    between = [part for link in links for part in (", ", link)][1:]
    return [html.P(["All pairs of the corpus like these: ", *between, "."])]
