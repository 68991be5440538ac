"""What changes over the corpus where one head is replaced: a part of tab Role of page Head, measured where its reader asks for it."""

from dash import dcc, html

from dashboard.points.shown import ShownPoints
from dashboard.roles.head_roles import WITHOUT, has_roles
from dashboard.roles.shares import known_shares
from dashboard.sentence.curve import KINDS, one_of
from dashboard.sentence.over_corpus import Measuring, known_change, sample_change
from dashboard.sentence.sample import SampleChange
from dashboard.sentence.without import TITLES, WITHOUT_HEADS, cannot_change
from dashboard.ui.controls import action, info
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.text import decimal, with_commands
from dashboard.ui.work import current_job
from dashboard.web.context import Context
from dashboard.web.corpus_model import runs_models
from dashboard.web.state import Instead, LinkState
from store import Corpus
from store.phrases import many
from store.replacement import SENTENCES
from store.schema.model import head_name

_ABOUT = (
    "The model runs on sentences of the corpus that no rule was fitted on, with all heads and with this one replaced. Change: 1 − cosine "
    "of the sentence vectors, mean with its 95% interval; of the distance: as a share of 1 − cosine of two different sentences; order: "
    "Spearman's correlation of the similarities of all pairs of sentences before and after."
)
_COLUMNS = ("instead, it does", "change", "of the distance", "order")


def replaced_head(points: ShownPoints, measured: html.Div | None) -> list[object]:
    """The section: a button that measures the change, or the `measured` change; nothing in a store without roles."""
    corpus, state = points.corpus, points.state
    if not has_roles(corpus):
        return []
    title = html.Div(
        html.H2(["If it were not there", info("a replaced head", _ABOUT)], id=WITHOUT), className="role-heading"
    )
    if reason := cannot_change(corpus, has_torch=runs_models()):
        return [title, html.P(with_commands(reason), className="caption")]
    if measured is None:
        href = state.with_(replaced=own_head(state)).href
        return [title, html.P(action(f"Measure over {SENTENCES} sentences", href))]
    return [title, measured]


def is_asked(corpus: Corpus, state: LinkState) -> bool:
    """Whether the link asks for the change without its head, and the change can be measured."""
    can_be = has_roles(corpus) and not cannot_change(corpus, has_torch=runs_models())
    return state.replaced == own_head(state) and can_be


def own_head(state: LinkState) -> str:
    """The head of a link as a field holds it: `layer-head`."""
    return f"{state.layer}-{state.head}"


def _kinds(corpus: Corpus) -> list[Instead]:
    return [kind for kind in KINDS if kind != "rule" or known_shares(corpus) is not None]


def _known(corpus: Corpus, state: LinkState) -> dict[Instead, SampleChange | None]:
    """Replacement -> the change if it was measured before."""
    return {kind: known_change(corpus, own_head(state), kind) for kind in _kinds(corpus)}


def _is_measured(corpus: Corpus, state: LinkState) -> bool:
    """Whether the numbers of the head were measured before."""
    return all(_known(corpus, state).values())


def compute_replaced(context: Context) -> list[object]:
    """Measure each replacement that was not measured before, and draw the table."""
    corpus, state = context.corpus, context.state
    if state.replaced != own_head(state):
        return []
    known = _known(corpus, state)
    if all(known.values()):
        return draw_replaced(state, [found for found in known.values() if found])
    job, kinds = current_job(), list(known)
    with context.served_store.service(Measuring).entered():
        own = own_head(state)
        measured = [
            sample_change(context.served_store, corpus, own, kind, one_of(place, len(kinds), job.watch))
            for place, kind in enumerate(kinds)
        ]
    return draw_replaced(state, measured)


REPLACED = DeferredPart(
    "replaced",
    "what changes where this head is replaced",
    compute_replaced,
    ("layer", "head", "replaced"),
    190,
    ready=_is_measured,
)


def draw_replaced(state: LinkState, measured: list[SampleChange]) -> list[object]:
    """The table with the numbers of each replacement; a row opens on page Sentence."""
    rows = [html.Tr([html.Td(_link(state, found)), *_numbers(found)]) for found in measured]
    table = html.Table([heading(_COLUMNS, _COLUMNS[1:]), html.Tbody(rows)], className="rows")
    name = head_name(state.layer, state.head)
    caption = f"{many(measured[0].sentences, 'sentence')} with {name} replaced. A row opens on page Sentence."
    said = [html.P(_moved(name, found)) for found in measured if found.instead == "off" and found.sentences > 1]
    return [*said, html.P(caption, className="caption"), scrolling(table, f"What changes where {name} is replaced")]


def _moved(name: str, off: SampleChange) -> str:
    """A sentence on how far sentence vectors move without a head."""
    return f"Without {name} a sentence vector moves by {100 * off.vectors.share:.2f}% of the distance between two sentences."


def _link(state: LinkState, found: SampleChange) -> dcc.Link:
    """A link to page Sentence with the head replaced and the same measurement."""
    changed = state.on("sentence").with_(without=own_head(state), instead=found.instead, sampled="1")
    href = changed.with_(heads=str(state.head), replaced=None).href
    return dcc.Link(TITLES[found.instead], href=f"{href}#{WITHOUT_HEADS}")


def _numbers(found: SampleChange) -> list[html.Td]:
    vectors, (low, high) = found.vectors, found.interval
    between = html.Div(f"{low:.4f} to {high:.4f}" if low == low else "", className="between")
    cells = (
        [html.Div(f"{vectors.mean:.4f}"), between],
        f"{100 * vectors.share:.2f}%" if found.sentences > 1 else "",
        decimal(vectors.spearman, 3) if found.sentences > 1 else "",
    )
    return [html.Td(cell, className="number") for cell in cells]
