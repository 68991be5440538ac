"""The evidence beside the sentences of Overview: where attention goes in each layer, and heads as pictures.

Attention goes to its targets by weight and by value norm, as bars. Pictures are of the clearest head of each kind, with two
sentences of the corpus and its card, and of the most and the least faithful picture.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import dcc, html
from dash.development.base_component import Component
from numpy.typing import NDArray

from dashboard.points.controls import FIDELITY
from dashboard.points.picture import shown_fidelity
from dashboard.sentence.finder import sentence_means
from dashboard.statistics.heads import BEHAVIOURS, HeadKind, kinds_of, largest_values
from dashboard.statistics.reach import MADE_OF, Arrival, read_arrival
from dashboard.statistics.shown import label_contrasts
from dashboard.ui.controls import info
from dashboard.ui.glossary import Term, defined, term, terms_of
from dashboard.ui.markup import FOLLOWED, further
from dashboard.ui.small_pictures import bar_legend, sentence_lines, share_bar
from dashboard.ui.text import all_of, decimal, spell, unbroken
from dashboard.ui.work import watched
from dashboard.web.http import data_link
from dashboard.web.results import cached
from dashboard.web.special_names import NAMED
from dashboard.web.state import LinkState
from store import Corpus
from store.phrases import many
from store.schema.model import head_name

#: Targets of attention -> the statistics of their shares, by weight and by norm; all other tokens get the rest.
TARGETS: Mapping[str, tuple[str, str]] = {
    "[CLS]": ("to_cls", "norm_to_cls"),
    "[SEP]": ("to_sep", "norm_to_sep"),
    "full stops and commas": ("to_punctuation", "norm_to_punctuation"),
}
OTHERS = "other tokens"
_NORMS = defined(
    "norm",
    "What arrives: each weight multiplied by the value norm of its key. Means over the heads of a layer and all sentences; every "
    "sentence has the same weight.",
)
#: What is averaged in which order: unlike shares by role, in which each word counts the same, so that long sentences count more.
_MEANS = "Means over all tokens of a sentence, then over sentences."
#: Fewest and most tokens of an example, [CLS] and [SEP] included: enough for a sentence, few enough to read at a glance.
FEWEST_TOKENS, MOST_TOKENS = 7, 12
#: A head attends to sinks where they get more than this share of its attention.
SINK_SHARE = 0.5
#: Pixels of the picture of a head.
PICTURE = 84
#: Tokens drawn in the picture of a head.
DRAWN = 4_000


@dataclass(frozen=True)
class Shares:
    """Shares of attention by target, by weight and by norm, which sum to 1 each."""

    weight: Mapping[str, float]
    norm: Mapping[str, float]

    @property
    def largest(self) -> str:
        """The special target with the largest share by weight."""
        return max(TARGETS, key=lambda name: self.weight[name])


@dataclass(frozen=True)
class WhereAttentionGoes:
    """Shares of each layer and of all heads, what special tokens are, and links that compare labels by the largest target.

    `arrival` is what the vectors of words are made of, None where the store lacks it; `layers_of_arrival` links to each layer's.
    """

    layers: list[Shares]
    mean: Shares
    special: Term
    contrasts: Mapping[str, str]
    href: str
    arrival: Arrival | None
    layers_of_arrival: str


def read_attention(corpus: Corpus, state: LinkState) -> WhereAttentionGoes:
    """The shares of a corpus; links are on the statistic of the special target with the largest share."""
    mean = mean_shares(corpus)
    state = state.on("statistics").with_(statistic=TARGETS[mean.largest][0])
    special = terms_of(corpus)["special"]
    arrival = read_arrival(corpus, "word", None)
    return WhereAttentionGoes(
        layer_shares(corpus),
        mean,
        special,
        label_contrasts(corpus, state),
        state.href,
        arrival if isinstance(arrival, Arrival) else None,
        # The same tokens as in the sentence on Overview: words, where the corpus has their means.
        f"{state.with_(source='word').href}#{MADE_OF}",
    )


def layer_shares(corpus: Corpus) -> list[Shares]:
    """The shares of each layer, means over its heads."""
    means = corpus.head_statistic.sel(source="all").mean("head")
    return [_shares(means.sel(layer=layer).to_series().to_dict()) for layer in means["layer"].values]


def mean_shares(corpus: Corpus) -> Shares:
    """The shares of all heads."""
    return _shares(corpus.head_statistic.sel(source="all").mean(("layer", "head")).to_series().to_dict())


def _shares(means: Mapping[str, float]) -> Shares:
    weight, norm = ({name: means[of[by]] for name, of in TARGETS.items()} for by in range(2))
    return Shares(_with_rest(weight), _with_rest(norm))


def _with_rest(shares: dict[str, float]) -> dict[str, float]:
    return shares | {OTHERS: max(0.0, 1 - sum(shares.values()))}


def where_attention_goes(shown: WhereAttentionGoes) -> list[object]:
    """A sentence on all heads, then two bars for each layer."""
    rows: list[Any] = [
        html.Tr([html.Th(f"L{layer}", scope="row"), html.Td(share_bar(shares.weight)), html.Td(share_bar(shares.norm))])
        for layer, shares in enumerate(shown.layers)
    ]
    titles = html.Thead(html.Tr([html.Th("layer"), html.Th("attention"), html.Th("what arrives")]))
    return [
        html.H2(["Where attention goes, and what arrives", info("what arrives", _NORMS)]),
        _finding(shown),
        bar_legend([*TARGETS, OTHERS]),
        html.Table([titles, html.Tbody(rows)], className="layer-bars"),
        *([] if shown.arrival is None else [_made_of(shown.arrival, shown.layers_of_arrival)]),
    ]


def _made_of(arrival: Arrival, href: str) -> html.P:
    """A sentence on what the vectors of words are made of after the last layer."""
    share = arrival.last["globenc"]
    return html.P(
        [
            f"Through all layers, {share['word']:.0%} of a word's vector comes from other words and {share['self']:.0%} is still its own. ",
            further(dcc.Link("Layer by layer", href=href)),
        ]
    )


def _finding(shown: WhereAttentionGoes) -> html.P:
    """Sentences on the special target with the largest share: its share of attention, and of what arrives."""
    shares, target = shown.mean, shown.mean.largest
    weight, norm = 100 * shares.weight[target], 100 * shares.norm[target]
    named = term("special", target, shown.special) if target in NAMED else target
    compared = [part for title, href in shown.contrasts.items() for part in (", ", dcc.Link(title, href=href))][1:]
    return html.P(
        [
            html.Strong(
                [
                    named,
                    f" gets {weight:.0f}% of all attention, {'but only' if norm < weight else 'and'} {norm:.0f}% of ",
                    term("norm", "what arrives"),
                ]
            ),
            f"; the rest gets {100 - weight:.0f}% and {100 - norm:.0f}%. {_MEANS}",
            further(
                " Each head: ",
                dcc.Link("Statistics", href=shown.href),
                *([". By label: ", *compared] if compared else []),
                ".",
            ),
        ]
    )


@dataclass(frozen=True)
class KindExample:
    """The clearest head of a kind with two sentences of the corpus, and the mean of its statistic in each.

    `typical` is the sentence nearest to the mean of all, `unusual` the sentence farthest below it.
    """

    kind: HeadKind
    typical: int
    unusual: int
    value: float
    lowest: float

    @property
    def head(self) -> tuple[int, int]:
        """Layer and number of the head."""
        return self.kind.heads[0]

    @property
    def is_exception(self) -> bool:
        """Whether the mean of the unusual sentence, as it is written, is below the mean of all sentences."""
        mean = self.kind.values[0]
        return self.lowest < mean and spell(self.lowest, "share") != spell(mean, "share")


@cached
def examples_of(corpus: Corpus) -> tuple[KindExample, ...]:
    """An example of each kind of heads."""
    counting = f"Counting {many(corpus.n_tokens, 'token')}"
    return tuple(_example(corpus, kind) for kind in watched(kinds_of(corpus), counting))


def _example(corpus: Corpus, kind: HeadKind) -> KindExample:
    layer, head = kind.heads[0]
    largest = largest_values(corpus, kind.label, layer)[: corpus.n_sentences]
    means = sentence_means(corpus, kind.statistic, layer, head) / largest
    readable = readable_sentences(corpus.sentences.row_size.values)
    typical = int(readable[np.abs(means[readable] - kind.values[0]).argmin()])
    unusual = int(readable[means[readable].argmin()])
    return KindExample(kind, typical, unusual, float(means[typical]), float(means[unusual]))


def readable_sentences(sizes: NDArray[np.integer]) -> NDArray[np.intp]:
    """Sentences of `FEWEST_TOKENS` to `MOST_TOKENS` tokens; where there are none, the sentences of the nearest size."""
    away = np.maximum(sizes - MOST_TOKENS, 0) + np.maximum(FEWEST_TOKENS - sizes, 0)
    return np.flatnonzero(away == away.min())


def heads_on_sinks(corpus: Corpus) -> int:
    """Number of heads that give most of their attention to sinks."""
    return int((corpus.head_statistic.sel(source="all", statistic="to_sink").values > SINK_SHARE).sum())


@dataclass(frozen=True)
class HeadPictures:
    """Pictures of the points of heads: the beginning of their URLs, empty without pictures, and a text on the drawn tokens."""

    url: str
    drawn: str


def read_pictures(corpus: Corpus, state: LinkState) -> HeadPictures:
    """The pictures of heads in the view of a link."""
    url = f"{data_link(corpus)}/raster/{state.view or corpus.views[0]}" if corpus.views else ""
    return HeadPictures(url, f"{min(DRAWN, corpus.n_tokens):,} of {all_of(corpus, 'token')}")


def example_cards(corpus: Corpus, state: LinkState) -> list[object]:
    """A card for each kind of heads."""
    sentences = {example.kind: _sentence(state, example, corpus) for example in examples_of(corpus)}
    return _cards(state, read_pictures(corpus, state), sentences)


def cards_outline(corpus: Corpus, state: LinkState) -> list[object]:
    """The cards before their sentences are found."""
    sentence = html.Div(className="skeleton lines")
    return _cards(state, read_pictures(corpus, state), dict.fromkeys(kinds_of(corpus), sentence))


def _cards(state: LinkState, pictures: HeadPictures, sentences: Mapping[HeadKind, Component]) -> list[object]:
    cards: list[Any] = [_card(state, pictures, kind, sentence) for kind, sentence in sentences.items()]
    return [html.Ul(cards, className="cards")]


def _card(state: LinkState, pictures: HeadPictures, kind: HeadKind, sentence: Component) -> html.Li:
    does = BEHAVIOURS[kind.label].replace("attend", "attends")
    evidence = f"Mean {kind.title}: {unbroken(spell(kind.values[0], 'share'))}."
    return head_card(state, pictures, kind.heads[0], (does, evidence), sentence)


def head_card(
    state: LinkState, pictures: HeadPictures, of: tuple[int, int], words: tuple[object, str], sentence: Component
) -> html.Li:
    """A head with its picture and a sentence; `words` say what the head does, and how clearly."""
    does: Any
    does, evidence = words
    return html.Li(
        [
            html.H3([head_link(state, *of), html.Span(does)]),
            html.P(evidence, className="evidence"),
            html.Div([picture_of_head(state, pictures, *of, PICTURE), sentence], className="pair-of"),
        ],
        className="card",
    )


def every_head(state: LinkState) -> LinkState:
    """A state in which page Heads shows every head, layer by layer: a link that counts heads adds its own filter alone."""
    return state.with_(arranged=None, tagged=None, above=None, does=None)


def head_link(state: LinkState, layer: int, head: int) -> dcc.Link:
    """The name of a head, a link to its page."""
    return dcc.Link(head_name(layer, head), href=state.on("head").with_(layer=layer, head=head).href)


def picture_of_head(state: LinkState, pictures: HeadPictures, layer: int, head: int, side: int) -> Component:
    """The points of a head as an image for each colour scheme, a link to its page; empty without a picture."""
    if not pictures.url:
        return html.Div(className="no-picture")
    url = f"{pictures.url}/{layer}/{head}.png?tokens={DRAWN}&side={side}"
    alt = f"Queries and keys of {head_name(layer, head)}, {pictures.drawn}"
    images = [_image(url, scheme, alt, side) for scheme in ("light", "dark")]
    href = state.on("head").with_(layer=layer, head=head).href
    return dcc.Link(images, href=href, className="head-picture")


def _image(url: str, scheme: str, alt: str, side: int) -> html.Span:
    """An image as a background: browsers do not fetch the background of an element that the other scheme hides."""
    named: Any = {"aria-label": alt, "role": "img"}
    style = {"backgroundImage": f'url("{url}&scheme={scheme}")', "width": side, "height": side}
    return html.Span(className=f"only-{scheme}", style=style, **named)


def _sentence(state: LinkState, example: KindExample, corpus: Corpus) -> html.A:
    """The sentence with lines from queries to keys; a link to the page Sentence."""
    layer, head = example.head
    tokens = corpus.wordpieces(corpus.sentence_rows(example.typical))[:MOST_TOKENS]
    pattern = _pattern(corpus, example.typical, layer, head)
    link = state.of_sentence(example.typical, layer=layer, heads=str(head), head=head).href
    label: Any = {"aria-label": f"Attention of {head_name(layer, head)} in sentence {example.typical:,}", FOLLOWED: ""}
    return html.A(sentence_lines(tokens, {"of-query": pattern}), href=link, className="of-sentence", **label)


@cached
def _pattern(corpus: Corpus, sentence: int, layer: int, head: int) -> NDArray[np.float32]:
    """Weights between the drawn tokens (query_token, key_token), of the softmax over the whole sentence."""
    rows = corpus.sentence_rows(sentence)
    drawn = np.arange(min(rows.stop - rows.start, MOST_TOKENS))
    return corpus.weights(sentence, layer=layer, head=head, queries=drawn)[:, : len(drawn)]


def exceptions(corpus: Corpus, state: LinkState, examples: Sequence[KindExample]) -> list[object]:
    """The unusual sentences of the examples: in them the clearest heads do not do as usual."""
    texts, found = corpus.sentences.text.values, [each for each in examples if each.is_exception]
    if not found:
        return [html.P("The clearest heads do as usual in every short sentence.", className="caption")]
    items: list[Any] = [_exception(state, example, str(texts[example.unusual])) for example in found]
    return [html.Ul(items, className="findings")]


def _exception(state: LinkState, example: KindExample, text: str) -> html.Li:
    layer, head = example.head
    kind = example.kind
    link = state.of_sentence(example.unusual, layer=layer, head=head, heads=str(head)).href
    return html.Li(
        [
            f"{head_name(layer, head)}: {kind.title} is ",
            html.Strong(spell(example.lowest, "share")),
            f" instead of {spell(kind.values[0], 'share')} in ",
            dcc.Link(html.Q(text if len(text) <= 90 else f"{text[:90]} ..."), href=link),
        ]
    )


def faithful_pictures(
    state: LinkState, pictures: HeadPictures, spearman: NDArray[np.float64] | list[Any]
) -> list[object]:
    """The most and the least faithful picture of a head by these correlations (layer, head); or how to get pictures."""
    title = html.H2(["How faithful the pictures are", info("fidelity", FIDELITY)])
    if isinstance(spearman, list):
        return [title, html.P(spearman)]
    ends = [np.unravel_index(index, spearman.shape) for index in (np.nanargmin(spearman), np.nanargmax(spearman))]
    figures: list[Any] = [
        _faithful(state, pictures, which, int(layer), int(head), float(spearman[layer, head]))
        for which, (layer, head) in zip(("Most", "Least"), ends, strict=True)
    ]
    every = dcc.Link("All heads", href=every_head(state).on("heads").href)
    return [
        title,
        html.P(
            [
                "Points that lie close attend to each other: ",
                term("rank", "rank correlation"),
                f" {decimal(float(np.nanmean(spearman)))} on average (−1 would be perfect). ",
                further(every, "."),
            ]
        ),
        html.Div(figures, className="faithful"),
    ]


@cached
def read_spearman(corpus: Corpus, view: str) -> NDArray[np.float64]:
    """Rank correlation of attention and distance in a view: (layer, head)."""
    values: NDArray[np.float64] = shown_fidelity(corpus.view(view)).sel(measure="spearman").values
    return values


def _faithful(
    state: LinkState, pictures: HeadPictures, which: str, layer: int, head: int, spearman: float
) -> html.Figure:
    caption = html.Figcaption(f"{which} faithful: {head_name(layer, head)}, {decimal(spearman)}")
    return html.Figure([picture_of_head(state, pictures, layer, head, 132), caption])
