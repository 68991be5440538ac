"""Section If heads were not there: heads are switched off or replaced in a sentence, and the reader sees the changes downstream."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.roles.shares import known_shares
from dashboard.sentence.change import (
    AnswerChange,
    Change,
    ChangedPair,
    answer_changes,
    attention_change,
    changed_pairs,
    vector_change,
)
from dashboard.sentence.encoder import UNLIKE, TypedSentences, has_no_vectors
from dashboard.sentence.over_corpus import CURVE, SAMPLED, can_be_measured, curve_panel, kinds_of, over_corpus
from dashboard.sentence.picture import isolated_head, read_shown
from dashboard.sentence.sentence import Sentence
from dashboard.ui.controls import action, choice, info, text_input
from dashboard.ui.deferred import DeferredPart, was_computed
from dashboard.ui.glossary import defined
from dashboard.ui.markup import FOLLOWED, heading, scrolling
from dashboard.ui.text import with_commands
from dashboard.web.admission import reader_left
from dashboard.web.context import Context
from dashboard.web.corpus_model import CorpusModel, runs_models
from dashboard.web.errors import Refusal
from dashboard.web.results import cached
from dashboard.web.state import MOST_CHANGED, LinkState, heads_numbers
from store import Corpus
from store.kernels.heads import LARGEST_DIVERGENCE
from store.replacement import INSTEAD, LONGEST, mean_patterns
from store.schema.model import head_name

#: Replacement of a head -> its title as a choice.
TITLES = {**INSTEAD, "patch": "attend as in another sentence"}
#: Replacement of a head -> predicate after the name of the head.
_SAID = {
    "off": "is off",
    "even": "attends evenly to all tokens",
    "mean": "attends as on average",
    "rule": "attends as its rules predict",
    "patch": "attends as in another sentence",
}
#: Id of the section, for links.
WITHOUT_HEADS = "without-heads"
#: Most heads and most answers named in the sentence.
NAMED = 3
#: Pixels of the part without the rows of its grid, and of each row.
HEIGHT, ROW = 390, 24
_ABOUT = (
    "The model runs again on this sentence. Before the values are mixed, the attention weights of the heads below are replaced: by "
    "nothing, so that the head adds nothing to its layer (Michel et al. 2019), by the same weight for every token, by the mean pattern "
    "of the head (by offset, and whether a token begins or ends the sentence), by the weights that its rules predict from the text, "
    "or by those of another sentence. The picture and all other numbers of this page are of the model as it is."
)
_EMPTY = "Switch heads off to see what changes downstream: the sentence vector, and the attention of every later head."
_NO_RULES = "Rules are known of sentences of the corpus with stored vectors, in a store with roles. Choose what else the heads do."
_NO_SENTENCE = "Type another sentence with {} tokens, [CLS] and [SEP] included: the heads attend as they do there."
_OTHER_LENGTH = (
    "This sentence has {} tokens, the other one {}. Type another one with {} tokens, [CLS] and [SEP] included."
)
_TOO_LONG = "Heads are switched off in sentences of at most {:,} tokens; this one has {:,}. Choose a shorter sentence."
_NO_TORCH = "Heads cannot be switched off: this server lacks PyTorch, which runs the model. Install the extra `ingest` on the server."
_NO_CHECKPOINT = (
    "Heads cannot be switched off: the store does not say where its model is. Run `headscape ingest` with the model."
)
_VECTOR = (
    "1 − cosine between the sentence vector before and after: the mean of the last layer's output over the tokens of words. "
    "An angle of 0 degrees is the same direction, of 90 degrees nothing in common."
)
_GRID = defined(
    "divergence",
    f"Here of one head before and after, in thousandths of a nat: at most {1000 * LARGEST_DIVERGENCE:.0f}.",
)
_COLUMNS = ("query", "key", "weight before", "after")


@dataclass(frozen=True, eq=False)
class ShownChange:
    """The changes downstream in a sentence.

    Attributes
    ----------
    change
        The change of one head or more.
    vector
        1 - cosine of the sentence vector before and after.
    divergence
        Divergence of each head's attention before and after, in nats: (layer, head).
    layer, head
        The head that the page shows.
    wordpieces
        Wordpieces of the sentence.
    of_pairs, pairs
        The shown head, or if its attention cannot change, the head that changes most; and the pairs of this head that change most.
    answers
        Answers of a classifier; empty for other models.
    """

    state: LinkState
    change: Change
    vector: float
    divergence: NDArray[np.float64]
    layer: int
    head: int
    wordpieces: tuple[str, ...]
    of_pairs: tuple[int, int]
    pairs: list[ChangedPair]
    answers: list[AnswerChange] = field(default_factory=list)

    @property
    def most_changed(self) -> list[tuple[int, int]]:
        """Layer and head of the later heads whose attention changes most."""
        return later_heads(self.change, self.divergence)[:NAMED]


def later_heads(change: Change, divergence: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Layer and head of the heads that a change can reach, the largest divergence (layer, head) first."""
    order = np.argsort(-divergence, axis=None, kind="stable")
    heads = zip(*(axis.tolist() for axis in np.unravel_index(order, divergence.shape)), strict=True)
    return [(layer, head) for layer, head in heads if change.is_later(layer, head)]


def without_parts(
    typed: TypedSentences, corpus: Corpus, state: LinkState, sentence: Sentence
) -> dict[DeferredPart, bool | None]:
    """The deferred parts of the section -> whether they are ready now; None where the part finds out itself."""
    if cannot_change(corpus, has_torch=runs_models()):
        return {}
    parts: dict[DeferredPart, bool | None] = {CURVE: None} if kinds_of(state) else {}
    if not why_unchanged(corpus, state, sentence):
        part = replace(WITHOUT, height=HEIGHT + ROW * corpus.layers)
        parts[part] = _is_computed(typed, corpus, state, sentence)
    if state.sampled and can_be_measured(corpus, state):
        parts[SAMPLED] = None
    return parts


def without_panel(corpus: Corpus, state: LinkState, sentence: Sentence, later: Mapping[str, html.Div]) -> list[object]:
    """The section: choices of heads and replacement, and the changes downstream, computed after the page."""
    title = html.H2(["If heads were not there", info("switching heads off", _ABOUT)], id=WITHOUT_HEADS)
    if reason := cannot_change(corpus, has_torch=runs_models()):
        return [title, html.P(with_commands(reason), className="caption")]
    unchanged = why_unchanged(corpus, state, sentence)
    return [
        title,
        draw_choices(state, (state.layer, isolated_head(state)), has_rules=knows_rules(corpus, state)),
        html.P(unchanged, className="caption") if unchanged else later[WITHOUT.name],
        *(over_corpus(state, later.get(SAMPLED.name)) if can_be_measured(corpus, state) else []),
        *curve_panel(state, later.get(CURVE.name), has_rules=known_shares(corpus) is not None),
    ]


def why_unchanged(corpus: Corpus, state: LinkState, sentence: Sentence) -> str:
    """Why no change is computed for a link, and what to do; empty where a change is computed."""
    if not state.without:
        return _EMPTY
    if is_too_long(sentence):
        return _TOO_LONG.format(LONGEST, len(sentence.wordpieces))
    if state.instead == "rule" and not knows_rules(corpus, state):
        return _NO_RULES
    is_missing = state.instead == "patch" and not state.patch
    return _NO_SENTENCE.format(len(sentence.wordpieces)) if is_missing else ""


def is_too_long(sentence: Sentence) -> bool:
    """Whether a sentence is too long to switch heads off: each head would need a weight for every two tokens."""
    return len(sentence.wordpieces) > LONGEST


def cannot_change(corpus: Corpus, *, has_torch: bool) -> str:
    """Why the model cannot run, as far as known without a look for the checkpoint; empty where it can."""
    if not has_torch:
        return _NO_TORCH
    return _NO_CHECKPOINT if CorpusModel.of(corpus).source is None else ""


def knows_rules(corpus: Corpus, state: LinkState) -> bool:
    """Whether rules can predict the attention of heads in the sentence of a link."""
    return not state.text and not has_no_vectors(corpus, state) and known_shares(corpus) is not None


def draw_choices(state: LinkState, shown: tuple[int, int], *, has_rules: bool) -> html.Div:
    """The choice of the replacement, the button that switches the shown head off or on, and the list of switched-off heads."""
    heads = heads_numbers(state.without)
    titles = {name: title for name, title in TITLES.items() if name != "rule" or has_rules or state.instead == "rule"}
    each = [
        action(
            f"{head_name(*head)} ✕",
            _with(state, heads, head),
            title=f"Switch {head_name(*head)} on again",
            look="plain",
        )
        for head in heads
    ]
    every = action("Switch all on again", state.with_(without=None, sampled=None).href, look="plain")
    listed: list[Any] = ["Switched off: " if state.instead == "off" else "Replaced: ", *each, every]
    return html.Div(
        [
            html.Div(
                [
                    choice("instead", "Instead, a head does", titles, state.instead, 220),
                    *([_other_sentence(state)] if state.instead == "patch" else []),
                    _toggle(state, heads, shown),
                ],
                className="controls",
            ),
            *([html.P(listed, className="switched-off")] if heads else []),
        ]
    )


def _other_sentence(state: LinkState) -> Any:
    return text_input("patch", "The other sentence", "type, then Enter", state.patch, 220)


def _toggle(state: LinkState, heads: list[tuple[int, int]], shown: tuple[int, int]) -> Any:
    name, href = head_name(*shown), _with(state, heads, shown)
    if shown in heads:
        return action(f"Switch {name} on again", href)
    if len(heads) >= MOST_CHANGED:
        return html.Span(f"{MOST_CHANGED} heads can be switched off at once.", className="caption")
    return action(f"Switch off {name}", href)


def _with(state: LinkState, heads: list[tuple[int, int]], head: tuple[int, int]) -> str:
    """The link that switches a head off if it is on, and on if it is off."""
    others = [other for other in heads if other != head]
    changed = others if head in heads else [*heads, head]
    without = ".".join(f"{layer}-{number}" for layer, number in changed) or None
    return state.with_(without=without, sampled=None).href  # other heads are measured on request alone


def change_of(typed: TypedSentences, corpus: Corpus, state: LinkState, sentence: Sentence) -> Change:
    """The change of the model by a link; a `Refusal` where the other sentence has another number of tokens."""
    heads = tuple(heads_numbers(state.without))
    predicted = _predicted(typed, corpus, state, sentence, heads)
    return Change(heads, state.instead, predicted, masks=corpus.masks)


def _predicted(
    typed: TypedSentences, corpus: Corpus, state: LinkState, sentence: Sentence, heads: tuple[tuple[int, int], ...]
) -> bytes:
    if state.instead == "mean":
        return mean_patterns(corpus, heads, sentence.flags).tobytes()
    if state.instead == "patch":
        return _of_other(typed.encode(corpus, state.patch or "", "", reader_left), len(sentence.wordpieces), heads)
    return _by_rules(corpus, state.sentence, heads) if state.instead == "rule" else b""


def _of_other(other: Sentence, tokens: int, heads: tuple[tuple[int, int], ...]) -> bytes:
    """The patterns of heads in another sentence, as bytes; a `Refusal` where it does not have `tokens` tokens."""
    if len(other.wordpieces) != tokens:
        raise Refusal(_OTHER_LENGTH.format(tokens, len(other.wordpieces), tokens))
    return np.stack([other.layer_pattern(layer)[head] for layer, head in heads]).tobytes()


@cached
def _by_rules(corpus: Corpus, sentence: int, heads: tuple[tuple[int, int], ...]) -> bytes:
    patterns = [corpus.predicted_pattern(sentence, layer=layer, head=head).values for layer, head in heads]
    return np.stack(patterns).astype(np.float32).tobytes()


def _is_computed(typed: TypedSentences, corpus: Corpus, state: LinkState, sentence: Sentence) -> bool:
    """Whether the sentence is already encoded with and without the change: the page then has the part at once."""
    is_encoded = typed.is_encoded(corpus, sentence.text, sentence.second, most=_most(state, sentence))
    if not was_computed(corpus, state, WITHOUT) or not is_encoded:
        return False
    if state.instead == "patch" and not typed.is_encoded(corpus, state.patch or ""):
        return False
    return typed.is_changed(corpus, sentence, change_of(typed, corpus, state, sentence))


def _most(state: LinkState, sentence: Sentence) -> int | None:
    """Number of wordpieces at which a sentence of the corpus is cut again; None for a typed sentence."""
    return None if state.text else len(sentence.wordpieces)


def compute_change(context: Context) -> list[object]:
    """Encode the sentence by the model as it is and by the changed model, and draw the changes."""
    corpus, state, shown = context.corpus, context.state, read_shown(context)
    if not state.without:
        return []
    if is_too_long(shown.sentence):
        raise Refusal(_TOO_LONG.format(LONGEST, len(shown.sentence.wordpieces)))
    typed = context.served_store.service(TypedSentences)
    own, most = shown.sentence, _most(state, shown.sentence)
    before = typed.encode(corpus, own.text, own.second, reader_left, most=most)
    if before.wordpieces != shown.sentence.wordpieces:
        raise Refusal(UNLIKE)
    change = change_of(typed, corpus, state, shown.sentence)
    after = typed.change(corpus, shown.sentence, change)
    layer, head = state.layer, isolated_head(state)
    vector, divergence = vector_change(before, after), attention_change(before, after)
    later = [(layer, head)] if change.is_later(layer, head) else later_heads(change, divergence)
    of_pairs = later[0] if later else (layer, head)
    pairs = changed_pairs(before, after, *of_pairs) if later else []
    answers = answer_changes(before, after)
    found = (vector, divergence, layer, head, before.wordpieces, of_pairs, pairs, answers)
    return draw_change(ShownChange(state, change, *found))


WITHOUT = DeferredPart(
    "without",
    "what changes without these heads",
    compute_change,
    ("sentence", "text", "second", "without", "instead", "patch", "layer", "head", "heads", "show"),
    HEIGHT,
)


def draw_change(shown: ShownChange) -> list[object]:
    """The change of the sentence vector, the heads that change most, a grid of all heads, and the pairs of the shown head."""
    return [
        _said(shown),
        html.Div([_grid(shown), html.Div(_pairs(shown))], className="change-parts"),
    ]


def _said(shown: ShownChange) -> html.P:
    """A sentence on how far the sentence vector turns, and on the heads whose attention changes most."""
    angle = np.degrees(np.arccos(np.clip(1 - shown.vector, -1, 1)))
    most = [
        part
        for layer, head in shown.most_changed
        for part in (", ", _link(shown.state, layer, head), f" ({_thousandths(shown, layer, head, least=1)})")
    ]
    attention = (
        [
            "Of the later heads, attention changes most in ",
            *most[1:],
            " thousandths of a nat.",
            info("the change of attention", _GRID),
        ]
        if most
        else ["No head comes later, so no attention changes."]
    )
    return html.P(
        [
            html.Strong(f"The sentence vector turns by {angle:.1f}°"),
            f" (1 − cosine {shown.vector:.4f}).",
            info("the sentence vector", _VECTOR),
            " ",
            *attention,
            *[
                f" Answer {name}: {before:.0%} before, {after:.0%} after."
                for name, before, after in shown.answers[:NAMED]
            ],
        ],
        role="status",
    )


def _link(state: LinkState, layer: int, head: int) -> dcc.Link:
    return dcc.Link(head_name(layer, head), href=_href(state, layer, head))


def _href(state: LinkState, layer: int, head: int) -> str:
    return state.with_(layer=layer, head=head, heads=str(head)).href


def _grid(shown: ShownChange) -> html.Div:
    """A grid of the change of each later head's attention, layers down and heads across; a cell opens its head."""
    layers, heads = shown.divergence.shape
    top = [html.Th(f"H{head}", scope="col") for head in range(heads)]
    rows = [
        html.Tr([html.Th(f"L{layer}", scope="row"), *(_cell(shown, layer, head) for head in range(heads))])
        for layer in range(layers)
    ]
    named: Any = {"aria-label": "Change of the attention of every head", "role": "region"}
    table = html.Table([html.Thead(html.Tr([html.Td(), *top])), html.Tbody(rows)], className="label-table change-grid")
    return html.Div(table, className="label-table-frame", tabIndex=0, **named)


def _cell(shown: ShownChange, layer: int, head: int) -> html.Td:
    changed, name = float(shown.divergence[layer, head]), head_name(layer, head)
    share, text, says = 0.0, "", f"{name} is not above a changed head"
    if (layer, head) in shown.change.heads:
        text, says = shown.change.instead, f"{name} {_SAID[shown.change.instead]}"
    elif shown.change.is_later(layer, head):
        share = changed / (shown.divergence[shown.most_changed[0]] or 1)
        text = _thousandths(shown, layer, head)
        says = f"{name} changes by {_thousandths(shown, layer, head, least=1)} thousandths of a nat"
    named: Any = {"aria-label": says, FOLLOWED: ""}
    link = html.A(html.Span(text), href=_href(shown.state, layer, head), title=says, **named)
    return html.Td(link, style={"--share": f"{100 * share:.0f}%"})


def _thousandths(shown: ShownChange, layer: int, head: int, *, least: int = 0) -> str:
    """The change of a head in thousandths of a nat; `least` decimals, or those that give the largest change three digits."""
    largest = 1000 * float(shown.divergence[shown.most_changed[0]])
    digits = 2 - math.floor(math.log10(largest)) if largest > 0 else 0
    return f"{1000 * float(shown.divergence[layer, head]):.{min(max(digits, least), 6)}f}"


def _pairs(shown: ShownChange) -> list[Any]:
    """The pairs whose weights change most, of the shown head or of the head that changes most; or why there are none."""
    said, name = _cannot_change(shown), head_name(*shown.of_pairs)
    if not shown.change.is_later(*shown.of_pairs):
        return said
    if not shown.pairs:
        return [*said, html.P(f"No weight of {name} changes by more than 0.05%.", className="caption")]
    table = html.Table(
        [heading(_COLUMNS, _COLUMNS[2:]), html.Tbody([_pair(shown, pair) for pair in shown.pairs])], className="rows"
    )
    return [*said, html.P(f"Largest changes of {name}:"), scrolling(table, f"Largest changes of {name}")]


def _cannot_change(shown: ShownChange) -> list[Any]:
    """Why the pairs are not those of the shown head; nothing where they are."""
    own = shown.layer, shown.head
    if shown.change.is_later(*own):
        return []
    why = "is changed itself" if own in shown.change.heads else "is not above a changed head and attends as before"
    return [html.P(f"{head_name(*own)} {why}. Click another head for its pairs.", className="caption")]


def _pair(shown: ShownChange, pair: ChangedPair) -> html.Tr:
    tokens = (html.Td([html.Bdi(shown.wordpieces[place]), f" at {place}"]) for place in (pair.query, pair.key))
    weights = (html.Td(f"{100 * weight:.1f}%", className="number") for weight in (pair.before, pair.after))
    return html.Tr([*tokens, *weights])
