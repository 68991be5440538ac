"""Page Store: models, their ingests, the ingest under way, pictures and history. The page names no folders of the server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.access.person import current_person
from dashboard.points.controls import FIDELITY, authors_size
from dashboard.points.picture import shown_fidelity
from dashboard.store_page.contents import corpus_section, many_cut, model_section
from dashboard.topic import Topic, read_then_draw
from dashboard.ui.controls import action, info
from dashboard.ui.markup import STORE, UNDER_WAY, Page, ingest_state, scrolling, stacked_table
from dashboard.ui.text import brief, decimal, difference_unit, has_part, naming, signed, with_unit
from dashboard.web.context import Context
from dashboard.web.paths import PageLinks
from dashboard.web.results import cached
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus, Snapshot, StoreError
from store.describe import (
    Description,
    HeadChange,
    ListChange,
    ModelChange,
    ModelDescription,
    SnapshotChanges,
    changes_between,
    contents_of,
    describe,
)
from store.phrases import many, utc
from store.repository.history import SHORT_ID
from store.repository.ingest_status import IngestProgress
from store.schema.model import head_name

#: Largest number of listed heads of a model.
LISTED = 8
#: Anchor of the section of changes.
CHANGES = "changes"
_MEANING = (
    "For each head the statistic that changed most: by the difference of its means over all queries, in standard deviations "
    "among the heads of the older snapshot."
)
_SNAPSHOTS = "A snapshot is the store as an ingest published it. A link that names one shows the same numbers after later ingests."
_UNREADABLE = (
    "This snapshot cannot be opened: it was deleted, or written by another version. Choose one of the history."
)
_contents_of = cached(contents_of)
_NO_FINGERPRINTS = (
    "Files of this store that hold the bytes of one another would not be noticed when they are read: "
    "it is in object storage, or an older Headscape published it. On a disk the next publication adds what is missing."
)
PICTURE_MEASURES = ("spearman", "recall", "across", "trustworthiness")
PICTURE_COLUMNS = ("picture", "rank correlation", "recall@3", "across", "trustworthiness", "fitted on", "build time")


def published_at(noted: str) -> str:
    """A noted time, in the form `22 Nov 2026, 05:35 UTC`."""
    return utc(datetime.fromisoformat(noted))


@dataclass(frozen=True)
class Since:
    """Changes between two snapshots, the older first.

    Attributes
    ----------
    snapshots, published
        Ids and publication times of the two snapshots.
    titles
        Titles of the models of both snapshots, by their keys.
    """

    snapshots: tuple[str, str]
    published: tuple[datetime, datetime]
    titles: Mapping[str, str]
    changes: SnapshotChanges


def read_changes(served_store: ServedStore, newer: Snapshot, since: str) -> Since | None:
    """Changes since a snapshot; None where that snapshot cannot be opened."""
    try:
        older = served_store.snapshot(since)
        changes = changes_between(older, newer)
    except StoreError:
        return None
    titles = {**older.titles, **newer.titles}
    return Since((older.id, newer.id), (older.published, newer.published), titles, changes)


def history_section(described: Description, state: LinkState) -> list[object]:
    """Published snapshots, newest first, each with a link to the changes since then."""
    names = [*(model.model for model in described.models), *(corpus.name for corpus in described.corpora)]
    alike = (list(same) for _, same in groupby(described.history, key=itemgetter("message")))
    rows = [_publications(described, state, same, names) for same in alike]
    alone = " This is the only snapshot: the next ingest adds one." if len(described.history) == 1 else ""
    shown = "" if state.snapshot is None else " This link shows an older snapshot."
    table = stacked_table(("published", "contents", "snapshot", "changes"), rows)
    return [
        html.H2("History"),
        html.P(
            [f"Snapshots published up to the shown one, newest first.{alone}{shown}", info("snapshots", _SNAPSHOTS)],
            className="caption",
        ),
        scrolling(table, "History"),
    ]


def _publications(
    described: Description, state: LinkState, alike: Sequence[dict[str, str]], names: list[str]
) -> list[object]:
    """A row of snapshots with the same contents, which stages of one ingest publish: the newest, then the others in a list that opens."""
    (when, opened, changes), *others = (_publication(described, state, old) for old in alike)
    contents: list[object] = [*naming(alike[0]["message"], *names)]
    if others:
        title = f"{many(len(others), 'snapshot')} before it with the same contents"
        rows = [html.Li([earlier, ": ", link, ", ", since]) for earlier, link, since in others]
        contents.append(html.Details([html.Summary(title), html.Ul(rows)]))
    return [when, contents, opened, changes]


def _publication(described: Description, state: LinkState, old: dict[str, str]) -> tuple[str, object, object]:
    """Publication time of a snapshot, a link to the dashboard of that snapshot, and a link to the changes since."""
    snapshot, when = old["snapshot"], published_at(old["published"])
    opened = state.with_(page="heads", snapshot=snapshot, since=None, model=None, at=None).href
    compared = f"{state.with_(since=snapshot).href}#{CHANGES}"
    link = dcc.Link("compare with now", href=compared, title=f"What changed since {when}")
    return (
        when,
        dcc.Link(f"open {snapshot[:SHORT_ID]}", href=opened, title=f"The dashboard as it was, {when}"),
        "shown now" if snapshot == described.snapshot else link,
    )


def changes_section(state: LinkState, since: Since | None) -> list[object]:
    """Section of changes since the snapshot of the link; nothing where the link names none."""
    if state.since is None:
        return []
    if since is None:
        return [html.H2("Changes", id=CHANGES), html.P(_UNREADABLE, role="status")]
    (older, newer), (then, now) = since.snapshots, since.published
    between = f"From snapshot {older[:SHORT_ID]} to {newer[:SHORT_ID]}, published {utc(now)}."
    models = _models(since.changes.models, since.titles)
    return [
        html.H2(f"Changes since {utc(then)}", id=CHANGES),
        html.P([between, " ", action("Close", state.with_(since=None).href)]),
        *([html.P(naming(models, *since.titles.values()))] if models else []),
        *[part for change in since.changes.changed for part in _changed_model(state, older, change)],
    ]


def _models(models: ListChange, names: Mapping[str, str]) -> str:
    listed = (("added", models.added), ("removed", models.removed))
    return " ".join(f"Models {what}: {', '.join(names[key] for key in keys)}." for what, keys in listed if keys)


def _changed_model(state: LinkState, older: str, change: ModelChange) -> list[object]:
    title = naming(f"{change.newer.model} on {change.newer.corpus}", change.newer.model, change.newer.corpus)
    return [html.H3(title), _counts(change), *_heads(state, older, change)]


def _counts(change: ModelChange) -> html.Table:
    was, now = change.older, change.newer
    rows: list[list[object]] = [
        ["sentences", f"{was.sentences:,}", f"{now.sentences:,}", _growth(was.sentences, now.sentences)],
        ["tokens", f"{was.tokens:,}", f"{now.tokens:,}", _growth(was.tokens, now.tokens)],
        ["pictures of heads", len(was.views), len(now.views), _listed(change.views)],
        ["stages", len(was.stages), len(now.stages), _listed(change.stages)],
    ]
    return stacked_table(("contents", "then", "now", "change"), rows, numbers=("then", "now"))


def _growth(was: int, now: int) -> str:
    return "none" if was == now else decimal(now - was, 0, "+,")


def _listed(names: ListChange) -> str:
    listed = (("added", names.added), ("removed", names.removed))
    return "; ".join(f"{what}: {', '.join(some)}" for what, some in listed if some) or "none"


def _heads(state: LinkState, older: str, change: ModelChange) -> list[object]:
    """The largest changes of head statistics, with links to the head in both snapshots."""
    if not change.heads:
        return [html.P("The statistics of all heads are the same in both snapshots.", className="caption")]
    rows = [_head(state, older, change, head) for head in change.heads[:LISTED]]
    columns = ("head", "statistic", "then", "now", "change", "in standard deviations")
    total = change.newer.layers * change.newer.heads
    caption = (
        f"The {len(rows)} largest changes of {len(change.heads)} changed heads, of {total}. A number opens its head."
    )
    return [
        html.P([caption, info("changes of heads", _MEANING)], className="caption"),
        stacked_table(columns, rows, numbers=columns[2:]),
    ]


def _head(state: LinkState, older: str, change: ModelChange, head: HeadChange) -> list[object]:
    statistic = STATISTICS[head.statistic]
    unit, scale = statistic.unit, 100 if statistic.unit == "share" else 1
    name = head_name(head.layer, head.head)
    shown = state.with_(model=change.newer.key, layer=head.layer, head=head.head).on("head")
    then, now = (
        dcc.Link(with_unit(brief(value, unit), unit), href=shown.with_(snapshot=snapshot, since=None).href)
        for value, snapshot in ((head.older, older), (head.newer, state.snapshot))
    )
    difference = f"{signed(scale * (head.newer - head.older), 2)} {difference_unit(unit)}"
    return [name, statistic.title, then, now, difference, signed(head.deviations, 2)]


@dataclass(frozen=True)
class Picture:
    """A view of the shown model: name and title, mean fidelity over heads, and the tokens that it was fitted on and judged on."""

    view: str
    title: str
    fidelity: tuple[float, ...]
    fitted: str
    judged_on: str
    seconds: float


@dataclass(frozen=True)
class StorePage:
    """Data of the page.

    Attributes
    ----------
    described
        The snapshot, its models and its corpora.
    model, title
        The shown model by its key and its name.
    is_part
        Whether only a part of the corpus has vectors.
    running, pending, failure
        The ingest under way, the pictures that it has yet to make, and a sentence on the last ingest's failure, empty without one.
    since
        Changes since the snapshot of the link; None where that cannot be opened, or the link names none.
    pictures
        Every view of the shown model, the default first.
    """

    state: LinkState
    described: Description
    model: str
    title: str
    is_part: bool
    running: IngestProgress | None
    pending: list[str]
    failure: str
    since: Since | None
    pictures: list[Picture]


def read(context: Context) -> StorePage:
    """Read all data of the page."""
    corpus, since, running = context.corpus, context.state.since, context.ingest
    return StorePage(
        state=context.state,
        described=describe(context.snapshot, _contents_of(context.snapshot)),
        model=corpus.name,
        title=corpus.title,
        is_part=has_part(corpus),
        running=running,
        pending=_pending(corpus) if running else [],
        failure="" if running else _failure(context.served_store),
        since=None if since is None else read_changes(context.served_store, context.snapshot, since),
        pictures=[_read_picture(corpus, view) for view in corpus.views],
    )


def draw(shown: StorePage) -> Page:
    """Draw the page: what was ingested and when, then how."""
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
        *map(corpus_section, described.corpora),
        *_refreshing(shown.is_part),
    ]
    return Page(above=parts)


def _contents(described: Description, state: LinkState) -> list[object]:
    """A line on the store, and a row for each model."""
    size = "" if described.bytes is None else f"; {described.bytes / 1e6:,.0f} MB with its history"
    columns = ("model", "corpus", "sentences", "tokens", "heads", "pictures", "ingested")
    names = {corpus.key: corpus.name for corpus in described.corpora}
    rows = [_model_row(state, model, names[model.corpus]) for model in described.models]
    published = f"Published {published_at(described.published)} as snapshot {described.snapshot[:SHORT_ID]}{size}."
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


def _failure(served_store: ServedStore) -> str:
    """Sentence on the last ingest's failure; authors alone see the reason, which may name folders of the server."""
    outcome = served_store.last_ingest
    if outcome is None or not outcome.failure:
        return ""
    when = utc(datetime.fromtimestamp(outcome.ended, UTC))
    why = outcome.failure if current_person().writes else "Tell those who run this server."
    return f"The last ingest failed on {when}. {why}"


def _pending(corpus: Corpus) -> list[str]:
    """Pictures that the settings of a model request and the snapshot lacks."""
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
    return [link, *map(decimal, picture.fidelity), picture.fitted, f"{picture.seconds:,.0f} s"]


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
