"""The history of a store on its page: published snapshots, and what changed between one of them and the shown one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dash import dcc, html

from dashboard.ui.controls import action, info
from dashboard.ui.markup import scrolling, stacked_table
from dashboard.ui.text import brief, difference_unit, naming, signed, with_unit
from dashboard.web.library import Library
from dashboard.web.state import LinkState
from store import STATISTICS, Snapshot, StoreError
from store.describe import (
    Description,
    HeadChange,
    ListChange,
    ModelChange,
    SnapshotChanges,
    changes_between,
)
from store.phrases import utc
from store.schema.model import head_name

#: Heads listed of a model at most.
LISTED = 8
#: The part of the page that shows the changes.
CHANGES = "changes"
_MEANING = (
    "For each head the statistic that changed most: by the difference of its means over all queries, in standard deviations "
    "among the heads of the older snapshot."
)
_SNAPSHOTS = "A snapshot is the store as an ingest published it. A link that names one shows the same numbers after later ingests."
_UNREADABLE = (
    "This snapshot cannot be opened: it was deleted, or written by another version. Choose one of the history."
)


def published_at(noted: str) -> str:
    """A noted moment as in `22 Nov 2026, 05:35 UTC`."""
    return utc(datetime.fromisoformat(noted))


@dataclass(frozen=True)
class Since:
    """What changed between two snapshots, the older first.

    Attributes
    ----------
    snapshots, published
        Their ids, and when they were published.
    titles
        Of the models of both, by their keys.
    """

    snapshots: tuple[str, str]
    published: tuple[datetime, datetime]
    titles: Mapping[str, str]
    changes: SnapshotChanges


def read_changes(library: Library, newer: Snapshot, since: str) -> Since | None:
    """What changed since a snapshot; None where that snapshot cannot be opened."""
    try:
        older = library.snapshot(since)
        changes = changes_between(older, newer)
    except StoreError:
        return None
    titles = {**older.titles, **newer.titles}
    return Since((older.id, newer.id), (older.published, newer.published), titles, changes)


def history_section(described: Description, state: LinkState) -> list[object]:
    """Published snapshots, newest first, each with a link to what has changed since."""
    names = [*(model.model for model in described.models), *(corpus.name for corpus in described.corpora)]
    rows = [_publication(described, state, old, names) for old in described.history]
    alone = " This is the only snapshot: the next ingest adds one." if len(rows) == 1 else ""
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


def _publication(described: Description, state: LinkState, old: dict[str, str], names: list[str]) -> list[object]:
    snapshot, when = old["snapshot"], published_at(old["published"])
    opened = state.with_(page="heads", snapshot=snapshot, since=None, model=None, at=None).href
    compared = f"{state.with_(since=snapshot).href}#{CHANGES}"
    link = dcc.Link("compare with now", href=compared, title=f"What changed since {when}")
    changes = "shown now" if snapshot == described.snapshot else link
    return [
        when,
        naming(old["message"], *names),
        dcc.Link(f"open {snapshot[:8]}", href=opened, title=f"The dashboard as it was, {when}"),
        changes,
    ]


def changes_section(state: LinkState, since: Since | None) -> list[object]:
    """What changed since the snapshot of the link; nothing where the link names none."""
    if state.since is None:
        return []
    if since is None:
        return [html.H2("Changes", id=CHANGES), html.P(_UNREADABLE, role="status")]
    (older, newer), (then, now) = since.snapshots, since.published
    between = f"From snapshot {older[:8]} to {newer[:8]}, published {utc(now)}."
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
    return "none" if was == now else f"{now - was:+,}"


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
