"""Page Store: what was ingested, when and how, the ingest under way, pictures and history. It names no folders of the server."""

from dataclasses import dataclass
from datetime import UTC, datetime

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.access.person import current_person
from dashboard.points.captions import FIDELITY, authors_size
from dashboard.points.picture import shown_fidelity
from dashboard.store_page.contents import corpus_section, many_cut, model_section
from dashboard.store_page.history import Since, changes_section, history_section, published_at, read_changes
from dashboard.topic import Topic, read_then_draw
from dashboard.ui.controls import info
from dashboard.ui.markup import stacked_table
from dashboard.ui.page import STORE, UNDER_WAY, Page, ingest_state
from dashboard.ui.text import has_part
from dashboard.web.context import Context
from dashboard.web.library import Library
from dashboard.web.paths import PageLinks
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.describe import (
    Description,
    ModelDescription,
    contents_of,
    describe,
)
from store.phrases import many, utc
from store.repository.ingest_status import IngestProgress

_contents_of = cached(contents_of)
_NO_FINGERPRINTS = (
    "Files of this store that hold the bytes of one another would not be noticed when they are read: "
    "it is in object storage, or an older Headscape published it. On a disk the next publication adds what is missing."
)
PICTURE_MEASURES = ("spearman", "recall", "across", "trustworthiness")
PICTURE_COLUMNS = ("picture", "Spearman", "recall@3", "across", "trustworthiness", "fitted on", "build time")


@dataclass(frozen=True)
class Picture:
    """A view of the shown model: its name and title, means of its fidelity over heads, what it was fitted on and judged on."""

    view: str
    title: str
    fidelity: tuple[float, ...]
    fitted: str
    judged_on: str
    seconds: float


@dataclass(frozen=True)
class StorePage:
    """What the page shows.

    Attributes
    ----------
    described
        The snapshot, its models and its corpora.
    model, title, corpus
        The shown model by its key and its name, and the key of its corpus.
    ends
        What its tokenizer calls the tokens before and after a text.
    is_part
        Whether vectors are of a part of the corpus.
    running, pending, failure
        The ingest under way, the pictures that it has yet to make, and that the last one failed; empty where it did not.
    since
        What changed since the snapshot of the link; None where that cannot be opened, or the link names none.
    pictures
        Every view of the shown model, the default first.
    """

    state: LinkState
    described: Description
    model: str
    title: str
    corpus: str
    ends: tuple[str, str]
    is_part: bool
    running: IngestProgress | None
    pending: list[str]
    failure: str
    since: Since | None
    pictures: list[Picture]


def read(context: Context) -> StorePage:
    """Everything that the page shows."""
    corpus, since, running = context.corpus, context.state.since, context.ingest
    first, *_, last = (piece.text for piece in corpus.sentence_pieces(0))
    return StorePage(
        state=context.state,
        described=describe(context.snapshot, _contents_of(context.snapshot)),
        model=corpus.name,
        title=corpus.title,
        corpus=corpus.attributes["corpus"],
        ends=(first, last),
        is_part=has_part(corpus),
        running=running,
        pending=_pending(corpus) if running else [],
        failure="" if running else _failure(context.library),
        since=None if since is None else read_changes(context.library, context.snapshot, since),
        pictures=[_read_picture(corpus, view) for view in corpus.views],
    )


def draw(shown: StorePage) -> Page:
    """The page: what was ingested and when, then how."""
    described, state = shown.described, shown.state
    shown_first = sorted(described.models, key=lambda model: model.key != shown.model)
    failed = dmc.Alert(shown.failure, color="orange", variant="light", className="failed")
    parts = [
        html.H1("Store"),
        *_contents(described, state),
        *[alert for corpus in described.corpora for alert in many_cut(corpus)],
        *_under_way(shown),
        *([failed] if shown.failure else []),
        *history_section(described, state),
        *changes_section(state, shown.since),
        *_pictures(shown),
        *[model_section(model) for model in shown_first],
        *[corpus_section(each, shown.ends if each.key == shown.corpus else None) for each in described.corpora],
        *_refreshing(shown.is_part),
    ]
    return Page(above=parts)


def _contents(described: Description, state: LinkState) -> list[object]:
    """A line on the store, and a row for each model."""
    size = "" if described.bytes is None else f"; {described.bytes / 1e6:,.0f} MB with its history"
    columns = ("model", "corpus", "sentences", "tokens", "heads", "pictures", "ingested")
    names = {corpus.key: corpus.name for corpus in described.corpora}
    rows = [_model_row(state, model, names[model.corpus]) for model in described.models]
    published = f"Published {published_at(described.published)} as snapshot {described.snapshot[:8]}{size}."
    return [
        html.P(published, className="how-to-read", title=described.snapshot),
        *([] if described.fingerprinted else [html.P(_NO_FINGERPRINTS, className="caption")]),
        stacked_table(columns, rows, numbers=columns[2:6]),
    ]


def _model_row(state: LinkState, model: ModelDescription, corpus: str) -> list[object]:
    heads = dcc.Link(html.Bdi(model.model), href=state.with_(model=model.key, since=None).on("heads").href)
    shape = f"{model.layers} x {model.heads}"
    numbers = f"{model.counted_sentences:,}", f"{model.counted_tokens:,}", shape, str(len(model.views))
    return [heads, html.Bdi(corpus), *numbers, published_at(model.finished)]


def _under_way(shown: StorePage) -> list[object]:
    """The ingest that runs now, followed as long as the page is open, and the pictures that it has yet to make."""
    line = html.Div(ingest_state(shown.running), id={UNDER_WAY: STORE}, role="status", className="under-way")
    waiting = f"{many(len(shown.pending), 'requested picture')} to come."
    about = info("the pictures to come", f"{', '.join(shown.pending)}.")
    return [html.H2("Ingest"), line, *([html.P([waiting, about], className="caption")] if shown.pending else [])]


def _failure(library: Library) -> str:
    """That the last ingest failed; why, for authors alone: it may name folders of the server."""
    outcome = library.last_ingest
    if outcome is None or not outcome.failure:
        return ""
    when = utc(datetime.fromtimestamp(outcome.ended, UTC))
    why = outcome.failure if current_person().writes else "Tell those who run this server."
    return f"The last ingest failed on {when}. {why}"


def _pending(corpus: Corpus) -> list[str]:
    """Pictures that the settings of a model name and the snapshot lacks."""
    requested = str(corpus.attributes["provenance"]["settings"].get("views") or "").split(",")
    return [view for view in map(str.strip, requested) if view not in ("", "none", *corpus.views)]


def _pictures(shown: StorePage) -> list[object]:
    """Every view of the shown model with its fidelity."""
    rows = [_picture(shown.state, picture) for picture in shown.pictures]
    judged_on = ", ".join(dict.fromkeys(picture.judged_on for picture in shown.pictures))
    return [
        html.H2(["Pictures of ", html.Bdi(shown.title)]),
        html.P(
            [
                f"Means over heads on {judged_on}. The first is the default.",
                info("the fidelity of pictures", FIDELITY),
            ],
            className="caption",
        ),
        stacked_table(PICTURE_COLUMNS, rows, numbers={*PICTURE_COLUMNS[1:5], "build time"}),
    ]


def _picture(state: LinkState, picture: Picture) -> list[object]:
    link = dcc.Link(picture.title, href=state.with_(view=picture.view).on("heads").href, title=picture.view)
    return [link, *(f"{number:.2f}" for number in picture.fidelity), picture.fitted, f"{picture.seconds:,.0f} s"]


def _read_picture(corpus: Corpus, view: str) -> Picture:
    known = corpus.view(view).attrs
    fitted = f"{known['sample_tokens']:,} tokens{authors_size(view)}"
    fidelity = _mean_fidelity(corpus, view)
    return Picture(view, str(known["title"]), fidelity, fitted, str(known["judged_on"]), known["seconds"])


@cached
def _mean_fidelity(corpus: Corpus, view: str) -> tuple[float, ...]:
    means = shown_fidelity(corpus.view(view)).mean(("layer", "head"))
    return tuple(float(means.sel(measure=name)) for name in PICTURE_MEASURES)


def _refreshing(is_part: bool) -> list[object]:
    more = "headscape ingest --store=<this store> --vectors=all            # vectors and pictures of every token\n"
    return [
        html.H2("Updating the store"),
        html.P("An ingest computes only what is missing; this server shows it without a restart."),
        html.Pre(
            "headscape ingest --store=<this store> --sentences=8000         # more of the same corpus\n"
            f"{more if is_part else ''}"
            "headscape ingest --store=<this store> --model=<folder or name> # another model beside this one\n"
            "headscape expire --store=<this store> --days=7                 # delete snapshots replaced more than 7 days ago",
            tabIndex=0,
            className="commands",
        ),
    ]


STORE_PAGE = Topic(
    name="store",
    title="Store",
    letter="t",
    docs="ingest.md#the-store",
    layout=read_then_draw(read, draw),
    links=PageLinks(former_names=("about",)),
    changes=True,
)
