"""The section for a reader's own hypothesis on page Relations: fields, hypothesis in words, the numbers of every head, and their file."""

from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
import numpy as np
import xarray as xr
from dash import dcc, html
from flask import Flask, Response, abort, request
from numpy.typing import NDArray

from dashboard.relations.example import HYPOTHESIS_FIELDS
from dashboard.relations.hypothesis import OF_GRAMMAR, WrittenHypothesis, labels_of, read_hypothesis, tested
from dashboard.roles.shares import RoleShares, known_shares, role_cells, role_titles
from dashboard.statistics.data import head_columns
from dashboard.ui.controls import action, choice, info, sorting_title, text_input
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.files import FORM, Table, file
from dashboard.ui.markup import Unmade, file_links, scrolling
from dashboard.ui.text import decimal, sight, with_commands
from dashboard.web.context import Context, LinkReader
from dashboard.web.errors import Refusal
from dashboard.web.http import BASE, corpus_of, data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.relations import MEASURES
from store.phrases import many
from store.repository.errors import NotIngested
from store.schema.model import head_name

#: Id of the section, for links.
OWN = "own-hypothesis"
#: Fields of a link that make a hypothesis, with the unit.
FIELDS = (*HYPOTHESIS_FIELDS, "hunit")
#: Numbers of the table in its order -> their titles.
_COLUMNS = {"bias": "bias", "iou": "IoU", "precision": "precision, %", "recall": "recall, %"}
_JOINED = {
    "": "anything",
    "depends": "the query depends on the key",
    "governs": "the key depends on the query",
    "same": "the same text elsewhere",
    "rest": "wordpieces of one word",
}
_UNITS = {"word": "words", "wordpiece": "wordpieces"}
_ENDS = (
    "A text such as not; a part of speech such as VERB (Universal Dependencies), where words are annotated; a regular expression "
    "between two slashes, such as /ing$/, found anywhere in the text; or * for any. Case is ignored. Of a word, each of its "
    "wordpieces is a query or a key. A wordpiece is written as its text, ing, or as the vocabulary writes it, ##ing."
)
_NUMBERS = (
    "{} Only attention between words counts: [CLS] and [SEP] are left out, and the weights of a query sum to 1. A query without "
    "named keys counts as missed in recall and IoU, which are small for a rare hypothesis. 95% intervals by bootstrap over sentences."
)
_EXAMPLES: dict[str, dict[str, str]] = {
    "“not” to what it negates": {"hquery": "not", "hjoined": "depends"},
    "“not” to the next word": {"hquery": "not", "hoffset": "+1"},
    "adjective to its noun": {"hquery": "ADJ", "hkey": "NOUN", "hjoined": "depends"},
    "-ing to a word before": {"hquery": "/ing$/", "hoffset": "-3 to -1"},
}


@dataclass(frozen=True)
class OwnHypothesis:
    """The section at a link.

    Attributes
    ----------
    labels
        Labels of dependencies to choose from; empty where the corpus has no words.
    sentence
        The hypothesis in words; empty where none is written.
    problem
        Why the written hypothesis cannot be tested, and what to do; empty where it can.
    heads
        The table, which may be computed after the page; None without a hypothesis to test.
    """

    state: LinkState
    labels: tuple[str, ...]
    sentence: str
    problem: list[object]
    heads: html.Div | None


def read_own(context: Context) -> OwnHypothesis:
    """The section for the hypothesis of a link."""
    corpus, state = context.corpus, context.state
    labels = labels_of(corpus) if corpus.has_words else ()
    try:
        written = read_hypothesis(corpus, state)
    except Refusal as refusal:
        return OwnHypothesis(state, labels, "", [*with_commands(str(refusal))], None)
    except NotIngested as error:
        return OwnHypothesis(state, labels, "", Unmade.of(error, context.ingest).text, None)
    if written is None:
        return OwnHypothesis(state, labels, "", [], None)
    return OwnHypothesis(state, labels, f"{written.sentence}{written.remark}", [], deferred(context, HYPOTHESIS))


def own_hypothesis(shown: OwnHypothesis) -> list[object]:
    """The fields, and below them a problem of the fields, the table of heads, or examples."""
    title = html.H2(["Your own hypothesis", info("the two words of a hypothesis", _ENDS)], id=OWN)
    controls = html.Div(_controls(shown), className="controls")
    if shown.problem:
        return [title, controls, dmc.Alert(shown.problem, color="orange", variant="light")]
    if shown.heads is None:
        return [title, controls, html.P(_examples(shown), className="caption")]
    return [title, controls, html.P(shown.sentence, className="what-it-does", role="status"), shown.heads]


def _controls(shown: OwnHypothesis) -> list[object]:
    state = shown.state
    joined = {name: said for name, said in _JOINED.items() if shown.labels or name not in OF_GRAMMAR}
    example = "not, VERB or /ing$/" if shown.labels else "not or /ing$/"
    controls: list[object] = [
        text_input("hquery", "Query: the attending word", example, state.hquery, 180),
        text_input("hkey", "Key: the attended word", "any", state.hkey, 180),
        text_input("hoffset", "Offset of the key", "+1 or −3 to −1", state.hoffset, 130),
        choice("hjoined", "Between them", joined, state.hjoined or "", 220),
    ]
    if state.hjoined in OF_GRAMMAR and shown.labels:
        labels = {"": "any"} | {label: label for label in shown.labels}
        controls.append(choice("hlabel", "Label", labels, state.hlabel or "", 110, of_data=True))
    return [*controls, choice("hunit", "Counted in", _UNITS, state.hunit, 110)]


def _examples(shown: OwnHypothesis) -> list[object]:
    """Example hypotheses; a click writes one into the fields."""
    parts: list[object] = ["Every head is tested on what you write: "]
    for title, fields in _EXAMPLES.items():
        if shown.labels or "hjoined" not in fields:
            href = shown.state.with_(**(dict.fromkeys(HYPOTHESIS_FIELDS) | fields)).href
            parts += [action(title, href, look="link"), ", "]
    return [*parts[:-1], "."]


@dataclass(frozen=True)
class TestedHeads:
    """Numbers of every head, see `Corpus.hypothesis`, roles of heads, the corpus' number of sentences, and the beginning of file URLs."""

    numbers: xr.Dataset
    shares: RoleShares | None
    corpus_sentences: int
    files: str
    sight: str


def read_tested(served_store: ServedStore, corpus: Corpus, state: LinkState) -> TestedHeads | None:
    """The numbers of the link's hypothesis; None where the link has no hypothesis."""
    written = read_hypothesis(corpus, state)
    if written is None:
        return None
    numbers = tested(served_store, corpus, written)
    return TestedHeads(numbers, known_shares(corpus), corpus.n_sentences, data_link(corpus), sight(corpus))


def draw_tested(state: LinkState, shown: TestedHeads | None) -> list[object]:
    """The table of all heads, the best head first; where no query has a named key, what to write instead."""
    if shown is None:
        return []
    sizes = shown.numbers.attrs
    if not sizes["named_queries"]:
        text = f"No query in {many(sizes['sentences'], 'sentence')} has such a key. Write another word or a wider condition."
        return [html.P(text, className="unmade", role="status")]
    queries = "1 query" if sizes["named_queries"] == 1 else f"{sizes['named_queries']:,} queries"
    caption = (
        f"{queries} with such a key, in {sizes['named_sentences']:,} of {many(sizes['sentences'], 'sentence')} counted "
        f"(the corpus has {shown.corpus_sentences:,}).{shown.sight}"
    )
    about = _NUMBERS.format(" ".join(f"{name[0].upper()}{name[1:]}: {MEASURES[name]}." for name in _COLUMNS))
    return [
        html.P([caption, info("the numbers of a hypothesis", about)], className="caption", role="status"),
        _table(state, shown),
        file_links(shown.files, "All heads", "hypothesis", {name: state.fields[name] for name in FIELDS}),
    ]


def _table(state: LinkState, shown: TestedHeads) -> html.Div:
    numbers = shown.numbers
    titles = [_title(state, name) for name in _COLUMNS]
    order = np.argsort(-numbers[state.hsort].values, axis=None, kind="stable")
    shape = numbers[state.hsort].shape
    heads = [(int(layer), int(head)) for layer, head in zip(*np.unravel_index(order, shape), strict=True)]
    body = html.Tbody([_row(state, shown, *head) for head in heads])
    table = html.Table(
        [html.Thead(html.Tr([*map(html.Th, ["head", *role_titles(shown.shares)]), *titles])), body],
        className="rows narrow",
    )
    return scrolling(table, "Heads by how well the hypothesis says what they attend to")


def _title(state: LinkState, name: str) -> html.Th:
    """The title of a column of numbers: a button that sorts by the column."""
    return sorting_title(_COLUMNS[name], state.with_(hsort=name).href, name, is_sorted=name == state.hsort)


def _row(state: LinkState, shown: TestedHeads, layer: int, head: int) -> html.Tr:
    numbers = shown.numbers
    page = state.on("head").with_(layer=layer, head=head)
    cells = [_cell(name, numbers[name].values, numbers[f"{name}_interval"].values, (layer, head)) for name in _COLUMNS]
    name = html.Td(dcc.Link(head_name(layer, head), href=page.href))
    return html.Tr([name, *role_cells(shown.shares, layer, head), *cells])


def _cell(name: str, values: NDArray[Any], interval: NDArray[Any], head: tuple[int, int]) -> html.Td:
    """A cell with the number of a head and its interval below; `interval` is (bound, layer, head)."""
    scale, digits = {"bias": (1, 2), "iou": (1, 3)}.get(name, (100, 1))
    low, high = (decimal(scale * bound, digits) for bound in interval[:, *head].tolist())
    between = "" if np.isnan(interval[:, *head]).any() else f"{low} to {high}"
    return html.Td(
        [html.Div(decimal(scale * float(values[head]), digits)), html.Div(between, className="between")],
        className="number",
    )


HYPOTHESIS = DeferredPart(
    "hypothesis",
    "how well the hypothesis says what each head attends to",
    lambda context: draw_tested(context.state, read_tested(context.served_store, context.corpus, context.state)),
    FIELDS,
    490,
)


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the route of the file."""

    @server.get(f"{BASE}/hypothesis.{FORM}")
    def hypothesis(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(served_store, snapshot, model)
        # By name: an unknown field does not make another entry in the cache.
        reader = LinkReader({name: request.args[name] for name in FIELDS if name in request.args}, {}, [])
        state = LinkState().with_(**{name: reader.read(name) for name in FIELDS})
        written = read_hypothesis(corpus, state)
        if written is None:
            abort(404, "This names no hypothesis. Write one on page Relations.")
        return file(iter([_file_table(written, tested(served_store, corpus, written))]), "hypothesis", form)


def _file_table(written: WrittenHypothesis, numbers: xr.Dataset) -> Table:
    """A row for every head: the hypothesis in words, the numbers with intervals, and the counts."""
    heads = numbers.iou.size
    columns: dict[str, NDArray[np.generic]] = {"hypothesis": np.full(heads, written.sentence, object)}
    columns |= head_columns(*numbers.iou.shape)
    for name in _COLUMNS:
        low, high = numbers[f"{name}_interval"].values
        columns |= {name: numbers[name].values.ravel(), f"{name}_low": low.ravel(), f"{name}_high": high.ravel()}
    return columns | {name: np.full(heads, count) for name, count in numbers.attrs.items() if name != "snapshot"}
