"""Page Sentence: what every head does in one sentence, of the corpus or typed by a reader."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.notes.listing import note_panel
from dashboard.notes.target import SentenceTarget, TokenTarget
from dashboard.roles.shares import RoleShares, known_shares
from dashboard.sentence.arrival import cannot_run, lacking, run_method, waits
from dashboard.sentence.charts import ShownMeans, positions, read_positions, sentence_mixing
from dashboard.sentence.controls import (
    SHOWN,
    Rulers,
    control_row,
    draw_rulers,
    draw_text,
    filter_group,
    main_controls,
    more_button,
    more_groups,
    read_rulers,
    sentence_inputs,
)
from dashboard.sentence.encoder import TypedSentences, encodable_sentences, has_no_vectors, shown_sentence
from dashboard.sentence.finder import finder, search_of
from dashboard.sentence.heads import about_head, opened_state, opening_of, ranking_panel, selected_pair, sentence_href
from dashboard.sentence.likeness import LIKENESS, likeness_panel
from dashboard.sentence.likeness import register as register_likeness
from dashboard.sentence.marks import marks_notice
from dashboard.sentence.methods import DECOMPX, MODEL_METHODS
from dashboard.sentence.over_corpus import CURVE, SAMPLED
from dashboard.sentence.over_corpus import register as register_curve
from dashboard.sentence.picture import (
    ShownSentence,
    averaged_heads,
    is_mean,
    isolated_head,
    options_of,
    read_shown,
    sentence_picture,
)
from dashboard.sentence.review import REVIEW, has_review, review_button
from dashboard.sentence.routes import register
from dashboard.sentence.tree import Tree, dependency_tree, read_tree
from dashboard.sentence.vector import VECTOR, vector_panel
from dashboard.sentence.vector import register as register_vector
from dashboard.sentence.why import WHY, can_say_why, why_panel
from dashboard.sentence.without import WITHOUT, without_panel, without_parts
from dashboard.topic import Choices, Topic, Views, read_then_draw
from dashboard.ui.controls import info, other_sentences
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.files import provenance_of
from dashboard.ui.markup import Page
from dashboard.ui.text import all_of, first_of, has_part, with_commands
from dashboard.web.context import Context
from dashboard.web.errors import Refusal
from dashboard.web.http import for_one_reader
from dashboard.web.paths import PageLinks
from dashboard.web.state import ORDER, LinkState
from store import Corpus
from store.phrases import many
from store.schema.model import head_name

HOW = {
    "head": "Queries left, keys right. Click a token to see only its lines. Click a line to see which heads make that link.",
    "model": "One thumbnail per head: queries down, keys across; stronger colour: more attention.",
    "matrix": "Queries down, keys across. Click a cell to see which heads make that link.",
    "neuron": "Select a query: its product with every key, channel by channel, and the weight.",
    "mixing": "Layers down, tokens across: the share of a token's vector that comes from other tokens.",
    "positions": "The head's attention weights in this sentence; beside it, their mean over the corpus by position.",
}
#: View -> what else a reader can do in it, behind an (i).
_MORE = {
    "head": "Hover a token or a line for its weights. Shift and click adds a token to the selection; double-click or h hides it. With a query selected, Enter on a key, or a tap, selects the pair; Escape or a second click clears it. Mark pair, or m, marks the selected pair in a colour; so does Shift and click on a line, or on a key of the selected query. Double-click a head's colour to show it alone.",
    "model": "Click a thumbnail, or use the arrow keys and Enter, to open its head. Marked pairs have a frame in their colour.",
    "matrix": "Hover a cell for its weight; the arrow keys move from cell to cell, Enter selects its pair, Escape or a second click clears it. Mark pair, m, or Shift and click marks a cell in a colour. Double-click a token's name, or press h in its row, to hide it.",
    "neuron": "q x k channel by channel, their sum, the pair's score, and the weight after the softmax.",
}


_ENCODED = (
    "Encoded now by the store's model in {}, as the store is: vectors are stored of {}. Notes and the dependency tree are of "
    "sentences with vectors."
)
_FROM_STORE = "weights computed from the stored queries and keys"


def views(context: Context) -> Views:
    """What the views draw, None where a figure takes their place; and, until the model is loaded, the part that waits for it."""
    if waits(context):
        return None, [deferred(context, TYPED, ready=False)]
    if context.state.show == "mixing":
        return None, []
    origin = provenance_of(context.snapshot, context.corpus, context.state)
    return sentence_picture(read_shown(context)) | origin, []


@dataclass(frozen=True)
class SentencePage:
    """What the page shows at a link.

    Attributes
    ----------
    layers, heads, sentences
        Numbers of layers and heads of the model, and of sentences of the corpus that can be shown.
    title, plain
        Title of the page, and text of a sentence that is not encoded.
    refused
        Why the sentence cannot be encoded; empty where it can.
    shown
        The sentence with its views; None where it cannot be encoded, or not yet.
    encoded, origin
        A remark on a sentence without stored vectors that was encoded now; and where the weights come from, in words.
    shares
        Roles of every head; None for a store without roles.
    has_picture
        Whether the corpus has a picture of its queries and keys.
    causal
        Whether the model's tokens see no later token.
    about
        Why the page opened on the shown head.
    rulers
        The windows of a long sentence; None for a short one.
    means
        The means by position; None in other views.
    tree
        The dependency tree; None where the sentence has no tree.
    questions
        Sections: parts of the selected pair's logit; switched-off heads and what that changes; whose words make the sentence's vector;
        why another sentence is like it.
    notes, found
        The panels of notes, and the search for a sentence, which may be computed after the page.
    has_review, review
        Whether the sentence is part of a review, and the sentences around it where the link shows them.
    notices
        Notices on parts of the link that are not shown.
    """

    state: LinkState
    layers: int
    heads: int
    sentences: int
    title: list[object]
    plain: str
    refused: str
    shown: ShownSentence | None
    encoded: str
    origin: str
    shares: RoleShares | None
    has_picture: bool
    causal: bool
    about: list[html.P]
    rulers: Rulers | None
    means: ShownMeans | None
    tree: Tree | None
    questions: Sequence[list[object]]
    notes: list[object]
    found: html.Div
    has_review: bool
    review: list[object]
    notices: tuple[str, ...] = ()


def read(context: Context) -> SentencePage:
    """Everything that the page shows; without views where the sentence cannot be encoded, or not yet."""
    corpus, (shown, refused) = context.corpus, _read_shown(context)
    state = shown.state if shown else context.state
    unstored = has_no_vectors(corpus, state)
    return SentencePage(
        state=state,
        layers=corpus.layers,
        heads=corpus.heads,
        sentences=encodable_sentences(corpus),
        title=_title(corpus, state, unstored=unstored),
        plain=state.text or (corpus.counted_text(state.sentence) if unstored else ""),
        refused=refused,
        shown=shown,
        encoded=_ENCODED.format(corpus.attributes["dtype"], first_of(corpus, "sentence")) if unstored and shown else "",
        origin=_origin(state, encoded=bool(state.text) or unstored),
        shares=known_shares(corpus),
        has_picture=bool(corpus.views),
        causal=corpus.masks[0].causal,
        about=about_head(state, partial(opening_of, corpus)) if shown else [],
        rulers=read_rulers(shown) if shown else None,
        means=read_positions(corpus, state.layer, state.head) if shown and state.show == "positions" else None,
        tree=read_tree(corpus, state) if shown and state.show != "mixing" and not unstored else None,
        questions=_read_questions(context, shown) if shown and state.show != "mixing" else [],
        notes=_notes(corpus, shown) if shown and not unstored else [],
        has_review=has_review(corpus, state),
        review=[deferred(context, REVIEW)] if state.around and has_review(corpus, state) else [],
        found=deferred(context, FOUND, ready=None if state.by and state.by != ORDER else True),
        notices=_notices(corpus, shown, context.state) if shown else (),
    )


def _read_questions(context: Context, shown: ShownSentence) -> list[list[object]]:
    """The sections below the views, each with its deferred part."""
    corpus, state, sentence = context.corpus, context.state, shown.sentence
    typed, reason = context.served_store.service(TypedSentences), cannot_run(corpus, sentence, DECOMPX)
    parts = without_parts(typed, corpus, state, sentence)
    if can_say_why(corpus, shown):
        parts[WHY] = True if selected_pair(shown) is None else None
    if not reason:
        parts |= ({VECTOR: None} if state.pooled is not None else {}) | ({LIKENESS: None} if state.alike else {})
    later = {part.name: deferred(context, part, ready=ready) for part, ready in parts.items()}
    return [
        why_panel(later.get(WHY.name)),
        without_panel(corpus, state, sentence, later),
        vector_panel(state, reason, later.get(VECTOR.name)),
        likeness_panel(state, reason, later.get(LIKENESS.name)),
    ]


def _origin(state: LinkState, *, encoded: bool) -> str:
    """Where the shown weights come from, in words: a method of the model also runs the model on a stored sentence."""
    return "computed with the same model" if encoded or options_of(state).rollout in MODEL_METHODS else _FROM_STORE


def _read_shown(context: Context) -> tuple[ShownSentence | None, str]:
    """The sentence, or why it cannot be encoded; neither while the model is loading."""
    if waits(context):
        return None, ""
    try:
        return read_shown(context), ""
    except Refusal as refusal:
        for_one_reader()  # the next reader may get the sentence
        return None, str(refusal)


def choices(page: SentencePage) -> Choices:
    """The value of the ranking control, and its default."""
    return {"by": page.state.by or ORDER}, {"by": ORDER}


def draw(page: SentencePage) -> Page:
    """The page; where a typed text cannot be encoded, the reason and the text field."""
    state, found = page.state, [html.H2("Find a sentence"), page.found]
    if page.shown is None and page.refused:
        alert = dmc.Alert(with_commands(page.refused), color="red", className="problem")
        return Page(above=[_title_row(page), control_row([sentence_inputs(state)]), alert], beside=found)
    controls = main_controls(state, page.layers, page.heads, page.shares, causal=page.causal)
    more = None if state.show == "mixing" else more_button(state)
    filters = filter_group(page.shown) if page.shown else []  # the row keeps its place until the model is loaded
    groups = [more_groups(state, page.shares, filters)] if more else []
    above = [_title_row(page), *page.review, control_row(controls, more), *groups]
    if page.shown is None:
        return Page(above=above, beside=found)
    above += draw_rulers(page.rulers)
    how = html.P(_how_to_read(state.show), className="how-to-read")
    if state.show == "mixing":
        below = [how, *_encoded(page), *sentence_mixing(page.shown), *page.notes]
        return Page(above=above, beside=found, below=below, notices=page.notices)
    beside = positions(page.means, beside_matrix=True) if page.means else ranking_panel(page.shown)
    questions = html.Div([html.Section(part) for part in page.questions if part], className="questions")
    tree = dependency_tree(page.tree) if page.tree else []
    about = [how, _caption(page, page.shown), *_encoded(page), *page.about]
    below = [*about, questions, *page.notes, *tree]
    return Page(above=above, beside=[*beside, *found], below=below, notices=page.notices)


def _title_row(page: SentencePage) -> html.Div:
    """The title, links to other sentences, and the text of the sentence: one row where the text is short."""
    state = page.state
    others = other_sentences(state.sentence, page.sentences, lambda sentence: state.of_sentence(sentence).href)
    text = draw_text(page.shown.sentence, _text(page.shown)) if page.shown else _plain_text(page)
    review = [review_button(state)] if page.has_review else []
    return html.Div([html.H1(page.title), others, *review, text], className="title-row of-sentence")


def _encoded(page: SentencePage) -> list[object]:
    return [html.P(page.encoded, className="caption")] if page.encoded else []


def _plain_text(page: SentencePage) -> html.P:
    """The text of a sentence that is not encoded."""
    return html.P(_named_texts(page.plain, page.state.second or ""), className="sentence-text", dir="auto")


def _named_texts(text: str, second: str) -> list[object]:
    """The text of a sentence, or both texts of a pair after their names A and B."""
    if not second:
        return [text]
    names = (html.Span(f"{letter} ", className="caption") for letter in "AB")
    return [next(names), text, " ", next(names), second]


def _how_to_read(show: str) -> list[str | html.Button]:
    about = f"the {SHOWN[show].lower()}"
    return [HOW[show], *([info(about, _MORE[show])] if show in _MORE else [])]


def _run(context: Context) -> list[object]:
    """Encode the sentence and run its method; the page is then fetched again, with the sentence or with why it cannot be encoded."""
    try:
        sentence = shown_sentence(context)
    except Refusal as refusal:
        if not refusal.is_of_request:
            raise
        return []
    run_method(context.served_store, context.corpus, sentence, context.state)
    return []


TYPED = DeferredPart(
    "own-text",
    "this sentence, once the model is loaded",
    _run,
    ("text", "second", "sentence", "rollout"),
    560,
    shape="box",
    reloads=True,
)
FOUND = DeferredPart(
    "found",
    "the statistic in every sentence",
    lambda context: finder(context.corpus, context.state, search_of(context.corpus, context.state)),
    ("by", "layer", "head", "heads", "first", "find", "labelled", "fewest", "most"),
    704,
    middle=580,
)


def _title(corpus: Corpus, state: LinkState, *, unstored: bool) -> list[object]:
    if state.text:
        return ["Your own pair of sentences" if state.second else "Your own sentence"]
    label = corpus.label_name(state.sentence)
    among = first_of(corpus, "sentence") if has_part(corpus) else f"{corpus.n_sentences:,}"
    if unstored:
        among = all_of(corpus, "sentence")
    return [f"Sentence {state.sentence:,} of {among} (counted from 0)", *([", ", html.Bdi(label)] if label else [])]


def _text(shown: ShownSentence) -> list[object]:
    sentence = shown.sentence
    is_cut = sentence.cut and not shown.state.text
    cut = [html.Span(f" (cut at {many(len(sentence.wordpieces), 'wordpiece')})", className="caption")] if is_cut else []
    return [*_named_texts(sentence.text, sentence.second), *cut]


def _notices(corpus: Corpus, shown: ShownSentence, asked: LinkState) -> tuple[str, ...]:
    """Notices on what is not shown: an impossible rollout, marks beyond the colours, the end of a long typed text."""
    sentence = shown.sentence
    missing = (lacking(corpus, sentence, asked.rollout),) if asked.rollout and not shown.state.rollout else ()
    refused = (*missing, *marks_notice(asked, sentence))
    if not (shown.state.text and sentence.cut):
        return refused
    wordpieces = many(len(sentence.wordpieces), "wordpiece")
    return (
        *refused,
        f"The text is cut at {wordpieces}: the model or this server reads no more. Type a shorter text, or its parts one by one.",
    )


def _caption(page: SentencePage, shown: ShownSentence) -> html.P:
    tokens = many(len(shown.sentence.wordpieces), "token")
    averaged, among = _averaged(shown), _among_points(page.state) if page.has_picture else []
    return html.P([*averaged, f"{tokens}; {page.origin}. ", *among], className="caption")


def _among_points(state: LinkState) -> list[object]:
    """A link to a typed sentence's points among those of the corpus."""
    if not state.text:
        return []
    head = isolated_head(state)
    name = head_name(state.layer, head)
    href = state.on("head").with_(token=None, head=head).href
    return [dcc.Link(f"See these words among all queries and keys of {name}", href=href), "."]


def _notes(corpus: Corpus, shown: ShownSentence) -> list[object]:
    """Panels of notes on the sentence, and on a token that is selected alone; none for a typed sentence, which is in no corpus."""
    if shown.state.text:
        return []
    sentence = shown.state.sentence
    panels = [note_panel("sentence", SentenceTarget.of(corpus, sentence), "Notes on this sentence")]
    match [unit.positions for unit in shown.selected_units]:
        case [[position]]:
            target = TokenTarget.at(corpus, sentence, position)
            panels.append(note_panel("token", target, f"Notes on “{target.wordpiece}”, position {position}"))
    return [html.Div(panels, className="note-panels")]


def _averaged(shown: ShownSentence) -> list[object]:
    """The heads of a mean, and a link to the mean over all heads where another view has chosen some; nothing without a mean."""
    state = shown.state
    if not is_mean(state):
        return []
    text = f"{averaged_heads(state, shown.layers, shown.heads)}. "
    if not state.heads or state.mean == "layers" or state.rollout:
        return [text]
    return [text, dcc.Link("Use all heads", href=state.with_(heads=None).href), ". "]


SENTENCE = Topic(
    name="sentence",
    title="Sentence",
    letter="e",
    docs="links.md#sentence",
    layout=read_then_draw(read, draw),
    links=PageLinks(always=frozenset({"layer"}), marked="sentence"),
    open=opened_state,
    href=sentence_href,
    choices=choices,
    sentence=views,
    deferred=(REVIEW, FOUND, TYPED, WHY, WITHOUT, SAMPLED, CURVE, VECTOR, LIKENESS),
    routes=(register, register_curve, register_vector, register_likeness),
)
