"""Governors and antecedents found from attention: tables of UAS and of coreference, with baselines and controls."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from dash import dcc, html

from dashboard.ui.controls import info
from dashboard.ui.files import Table
from dashboard.ui.glossary import term
from dashboard.ui.markup import Unmade, file_links, heading, scrolling, stacked_cells, unmade_line
from dashboard.ui.text import decimal
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store import Corpus
from store.phrases import many
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.results import best_antecedent_head
from store.schema.corpus import BASELINES, CANDIDATES, GAP, GAP_BASELINES, METHODS
from store.schema.model import head_name

TITLE = "Parsing from attention alone (UAS)"
_MEANING = (
    "UAS: share of the words whose governor is found, of sentences that no probe was trained on; the root counts, punctuation "
    "does not. Each word on its own, or the spanning tree with the largest score and one root. Selectivity is the UAS of a "
    "probe less its accuracy in the control task, in which the right answer is drawn for every spelling (Clark et al. 2019, "
    "section 5; Hewitt & Liang 2019)."
)
_PASSAGES = (
    "Passages of several sentences have several roots. Ingest single sentences, such as a treebank, for this table."
)
COREFERENCE = "Coreference"
#: Ids of the two sections on the page.
GOVERNORS, ANTECEDENTS = "governors", "antecedents"
#: An example that needs no annotation, after Uszkoreit 2017, "Transformer: a novel neural network architecture for language understanding".
PRONOUN = "The animal did not cross the street because it was too tired."
_CHAINS = (
    "Share of the mentions with an antecedent before them in the passage for which a head finds one: of the mentions before, "
    "the one whose head word gets most attention from the mention's head word, or of all words the one that gets most. The head "
    "is chosen on every second passage for all mentions, and reported on the others. Rules and kinds as in Clark et al. (2019, "
    "section 4.3); pronoun, proper or nominal by the part of speech of the head word."
)
_GAP = (
    "Of two names the head chooses the one that gets more of the pronoun's attention. Accuracy: share of the pronouns that "
    "stand for one of the names; F1 as GAP's scorer counts, for which a pronoun of neither name is a wrong answer (Webster et "
    "al. 2018). The head is chosen on every second passage, and reported on the others."
)


@dataclass(frozen=True)
class Governors:
    """UAS of every method, as in `Corpus.uas`, and the source of the words; `files` begins the URLs of the corpus' files."""

    uas: xr.Dataset
    source: str
    files: str


def read_governors(corpus: Corpus, running: IngestProgress | None) -> Governors | Unmade | None:
    """UAS of the corpus, or how to get it; None where sentences are passages, which have several roots."""
    if corpus.words.mentions:
        return None
    try:
        return Governors(corpus.uas, corpus.words.source, data_link(corpus))
    except NotIngested as error:
        return Unmade.of(error, running)


def governors(found: Governors | Unmade | None) -> list[object]:
    """The section with the table of every method, or with how to get it."""
    title = html.H2([TITLE, info("UAS", _MEANING)], id=GOVERNORS)
    if found is None:
        return [title, html.P(_PASSAGES, className="caption")]
    if isinstance(found, Unmade):
        return [title, unmade_line(found)]
    uas = found.uas
    trained, reported = (many(int(uas.attrs[name]), "sentence") for name in ("trained_on", "reported_on"))
    words = many(int(uas.attrs["words"]), "word")
    caption = [term("uas"), f" in % with its 95% interval, on {reported} with {words}: {found.source}."]
    about = f"The probes are trained on {trained}, others than those."
    rows = [_row(uas, method, name) for method, name in METHODS.items()]
    titles = ("method", "each word", "tree", "selectivity")
    return [
        title,
        html.P([*caption, info("the probes", about)], className="caption"),
        scrolling(stacked_cells(titles, rows, titles[1:]), TITLE),
        file_links(found.files, "UAS", "uas"),
    ]


def _row(uas: xr.Dataset, method: str, name: str) -> list[html.Td]:
    numbers = [_share(uas, method, decoding) for decoding in ("each", "tree")]
    return [
        html.Td(name),
        *(html.Td(number, className="number") for number in (*numbers, _selectivity(uas, method))),
    ]


def _share(found: xr.Dataset, method: str, decoding: str) -> str:
    cell = {"approach": method, "decoding": decoding}
    uas, (low, high) = float(found.uas.sel(cell)), found.interval.sel(cell).values
    return f"{100 * uas:.1f} ({100 * low:.1f} to {100 * high:.1f})" if uas == uas else ""


def _selectivity(found: xr.Dataset, method: str) -> str:
    """UAS of a probe less its accuracy in the control task."""
    if f"control_{method}" not in METHODS:
        return ""
    own, control = (float(found.uas.sel(approach=name, decoding="each")) for name in (method, f"control_{method}"))
    return decimal(100 * (own - control), 1)


@dataclass(frozen=True)
class AntecedentShares:
    """A row: how antecedents are found, and the share of right ones in each group (group,) with bounds; NaN where none is known."""

    title: str
    accuracy: xr.DataArray
    low: np.ndarray
    high: np.ndarray
    f1: xr.DataArray | None = None


def rows_of(coreference: xr.Dataset) -> Iterator[AntecedentShares]:
    """Rows of the best head, the baselines, and the best head with random weights, on the reported passages."""
    gap = coreference.attrs["scheme"] == GAP
    for candidates in [None] if gap else CANDIDATES:
        yield _head(coreference, "", candidates)
    for name, title in (GAP_BASELINES if gap else BASELINES).items():
        yield _shares(coreference, title, "baseline_", {"baseline": name})
    for candidates in [None] if gap else CANDIDATES:
        yield _head(coreference, "random_", candidates)


def _head(coreference: xr.Dataset, of: str, candidates: str | None) -> AntecedentShares:
    layer, head = best_antecedent_head(coreference, of)
    cell = {"layer": layer, "head": head} | ({"candidates": candidates} if candidates else {})
    title = f"{'random weights, ' if of else ''}head {head_name(layer, head)}"
    return _shares(coreference, f"{title}: {CANDIDATES[candidates]}" if candidates else title, of, cell)


def _shares(coreference: xr.Dataset, title: str, of: str, cell: dict[str, object]) -> AntecedentShares:
    def reported(name: str) -> xr.DataArray:
        return coreference[f"{of}{name}"].sel(cell).isel(half=1)

    bounds = {"": "interval", "baseline_": "baseline_interval"}.get(of)
    accuracy = reported("accuracy")
    unknown = np.full((2, accuracy.size), np.nan)
    low, high = coreference[bounds].sel(cell).values if bounds else unknown
    return AntecedentShares(title, accuracy, low, high, reported("f1") if f"{of}f1" in coreference else None)


@dataclass(frozen=True)
class Antecedents:
    """Shares of found antecedents, as in `Corpus.coreference`, and the source of the words; `files` begins the URLs of files."""

    coreference: xr.Dataset
    source: str
    files: str


def read_antecedents(corpus: Corpus, running: IngestProgress | None) -> Antecedents | Unmade:
    """The shares of the corpus, or how to get them."""
    try:
        return Antecedents(corpus.coreference, corpus.words.source, data_link(corpus))
    except NotIngested as error:
        return Unmade.of(error, running)


def antecedents(found: Antecedents | Unmade, state: LinkState) -> list[object]:
    """The section with the table; where there is none, with how to get it and an example."""
    if isinstance(found, Unmade):
        sentence = state.on("sentence").with_(text=PRONOUN, words="1")
        example = [
            dcc.Link("An example", href=sentence.href),
            " (after Uszkoreit 2017): click the line from “it” to “animal” to see which heads link them.",
        ]
        return [html.H2(COREFERENCE, id=ANTECEDENTS), unmade_line(found), html.P(example, className="caption")]
    coreference = found.coreference
    gap = coreference.attrs["scheme"] == GAP
    groups = [str(name) for name in coreference["gender" if gap else "kind"].values]
    titles = ("antecedent", *groups, *(f"F1, {group}" for group in groups if gap))
    rows = [html.Tr([html.Td(row.title), *_cells(row)]) for row in rows_of(coreference)]
    about = f"Gold coreference of the data; words and head words: {found.source}."
    return [
        html.H2([COREFERENCE, info("coreference", _GAP if gap else _CHAINS)], id=ANTECEDENTS),
        html.P([_caption(coreference, groups), info("the probes", about)], className="caption"),
        scrolling(html.Table([heading(titles, titles[1:]), html.Tbody(rows)], className="rows"), COREFERENCE),
        file_links(found.files, "Antecedents", "coreference"),
    ]


def _caption(coreference: xr.Dataset, groups: list[str]) -> str:
    counts = coreference.mentions.values[1]
    parts = ", ".join(f"{int(count):,} {group}" for group, count in zip(groups[1:], counts[1:], strict=True))
    item = "pronoun" if coreference.attrs["scheme"] == GAP else "mention"
    return f"Accuracy in % with its 95% interval, of {many(int(counts[0]), item)} ({parts})."


def _cells(row: AntecedentShares) -> Iterator[html.Td]:
    for share, low, high in zip(row.accuracy.values, row.low, row.high, strict=True):
        interval = f" ({100 * low:.1f} to {100 * high:.1f})" if low == low else ""
        yield html.Td(f"{100 * share:.1f}{interval}" if share == share else "", className="number")
    for share in () if row.f1 is None else row.f1.values:
        yield html.Td(f"{100 * share:.1f}" if share == share else "", className="number")


def coreference_table(corpus: Corpus) -> Table:
    """The table of antecedents as a file: a line for each row and group."""
    coreference = corpus.coreference
    group = "gender" if coreference.attrs["scheme"] == GAP else "kind"
    rows = list(rows_of(coreference))
    size = coreference.sizes[group]
    columns: Table = {
        "antecedent": np.repeat(np.array([row.title for row in rows], object), size),
        group: np.tile(coreference[group].values.astype(object), len(rows)),
        "mentions": np.tile(coreference.mentions.values[1], len(rows)),
        "accuracy": np.concatenate([row.accuracy.values for row in rows]),
        "interval_low": np.concatenate([row.low for row in rows]),
        "interval_high": np.concatenate([row.high for row in rows]),
    }
    f1 = {"f1": np.concatenate([row.f1.values for row in rows if row.f1 is not None])} if group == "gender" else {}
    return {**columns, **f1}
