"""How many governors are found from attention: the table of UAS, with baselines and controls."""

from dash import html

from dashboard.ui.controls import info
from dashboard.ui.markup import file_links, heading, scrolling
from dashboard.ui.page import Unmade, unmade_line
from dashboard.web.context import Context
from dashboard.web.http import data_link
from store import Corpus
from store.phrases import many
from store.repository.errors import NotIngested
from store.schema.relations import METHODS

TITLE = "Governors found from attention"
_MEANING = (
    "UAS: share of the words whose governor is found, of sentences that no probe was trained on; the root counts, punctuation "
    "does not. Each word on its own, or the spanning tree with the largest score and one root. Selectivity is the UAS of a "
    "probe less its accuracy in the control task, in which the right answer is drawn for every spelling (Clark et al. 2019, "
    "section 5; Hewitt & Liang 2019)."
)
_PASSAGES = (
    "Passages of several sentences have several roots. Ingest single sentences, such as a treebank, for this table."
)


def governors(context: Context) -> list[object]:
    """The table of every method, or how to get it."""
    title = html.H2([TITLE, info("UAS", _MEANING)])
    if context.corpus.words.mentions:
        return [title, html.P(_PASSAGES, className="caption")]
    try:
        uas = context.corpus.uas
    except NotIngested as error:
        return [title, unmade_line(Unmade.of(error, context.ingest))]
    trained, reported = (many(int(uas.attrs[name]), "sentence") for name in ("trained_on", "reported_on"))
    caption = f"UAS in % with its 95% interval, on {reported} with {many(int(uas.attrs['words']), 'word')}."
    about = f"{context.corpus.words.source.capitalize()}; the probes are trained on {trained}."
    rows = [html.Tr(_row(context.corpus, method, name)) for method, name in METHODS.items()]
    titles = ("method", "each word", "tree", "selectivity")
    return [
        title,
        html.P([caption, info("the words", about)], className="caption"),
        scrolling(html.Table([heading(titles, titles[1:]), html.Tbody(rows)], className="rows"), TITLE),
        file_links(data_link(context.corpus), "UAS", "uas"),
    ]


def _row(corpus: Corpus, method: str, name: str) -> list[html.Td]:
    numbers = [_share(corpus, method, decoding) for decoding in ("each", "tree")]
    return [
        html.Td(name),
        *(html.Td(number, className="number") for number in (*numbers, _selectivity(corpus, method))),
    ]


def _share(corpus: Corpus, method: str, decoding: str) -> str:
    cell = {"approach": method, "decoding": decoding}
    uas, (low, high) = float(corpus.uas.uas.sel(cell)), corpus.uas.interval.sel(cell).values
    return f"{100 * uas:.1f} ({100 * low:.1f} to {100 * high:.1f})" if uas == uas else ""


def _selectivity(corpus: Corpus, method: str) -> str:
    """UAS of a probe less its accuracy in the control task."""
    if f"control_{method}" not in METHODS:
        return ""
    own, control = (float(corpus.uas.uas.sel(approach=name, decoding="each")) for name in (method, f"control_{method}"))
    return f"{100 * (own - control):.1f}"
