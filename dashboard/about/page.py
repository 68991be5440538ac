"""Page About this store: where every number comes from, its history, how to update it. It names no folders of the server."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.points.captions import authors_size, shown_fidelity
from dashboard.ui.controls import info
from dashboard.ui.page import Page
from dashboard.ui.tables import heading
from dashboard.web.context import Context
from store.describe import CorpusDescription, Description, ModelDescription, describe
from store.wording import many

#: Settings that may name folders of the server; `headscape describe` shows them.
PLACES = ("model", "data", "store")
PICTURE_COLUMNS = ("view", "Spearman", "recall@3", "across", "trustworthiness", "fitted on", "build time")
_FIDELITY = (
    "Spearman: rank correlation of attention and distance on screen, -1 is perfect. Recall@3: share of the 3 most attended "
    "keys among the 3 nearest. Across: Spearman over keys of other sentences. Trustworthiness: 1 is perfect."
)


def layout(context: Context) -> Page:
    """The page of a link."""
    described = describe(context.snapshot)
    parts = [
        html.H1("About this store"),
        _table("Store", _store_facts(described)),
        *[_table(f"Model {model.model}", _model_facts(model)) for model in described.models],
        *_pictures(context),
        *[_table(f"Corpus {corpus.name}", _corpus_facts(corpus)) for corpus in described.corpora],
        *_history(described, context),
        *_refreshing(),
    ]
    return Page(above=parts)


def _store_facts(described: Description) -> dict[str, str]:
    return {
        "snapshot": described.snapshot,
        "published": _moment(described.published),
        "schema version": str(described.schema_version),
        "size with its history": "not counted on object storage"
        if described.bytes is None
        else f"{described.bytes / 1e6:,.0f} MB",
    }


def _model_facts(model: ModelDescription) -> dict[str, str]:
    provenance: Mapping[str, Any] = model.provenance
    return {
        "shape": f"{model.layers} layers x {model.heads} heads x {model.channels} channels",
        "sentences, tokens": f"{model.sentences:,}, {model.tokens:,}",
        "weights sha256": model.weights_sha256,
        "revision": str(provenance["revision"]),
        "computed in": f"{model.dtype} on {provenance['device']}, {provenance['batch_tokens']:,} tokens per batch",
        "attention": model.attention,
        "versions": ", ".join(f"{name} {version}" for name, version in provenance["versions"].items()),
        "settings": ", ".join(
            f"{name.upper()}={value}"
            for name, value in provenance["settings"].items()
            if value is not None and name not in PLACES
        ),
        "pictures": ", ".join(model.views) or "none",
        "feature points": "; ".join(f"{token_set.points} of {token_set.title}" for token_set in model.token_sets)
        or "none",
        "finished": _moment(model.finished),
    }


def _corpus_facts(corpus: CorpusDescription) -> dict[str, str]:
    return {
        "key": corpus.key,
        "sentences": f"{corpus.sentences:,}, in the order of their content hash: every prefix is a uniform sample",
        "labels": ", ".join(corpus.label_names) or "none",
        "cut": f"{many(corpus.truncated, 'sentence')} had more than {corpus.max_length} wordpieces",
        "data": corpus.data_identity,
    }


def _moment(noted: str) -> str:
    """A moment as in `22 Nov 2026, 05:35 UTC`."""
    moment = datetime.fromisoformat(noted).astimezone(UTC)
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def _table(title: str, facts: Mapping[str, str]) -> html.Section:
    rows = [html.Tr([html.Th(name, scope="row"), html.Td(value)]) for name, value in facts.items()]
    return html.Section([html.H2(title), dmc.Table(html.Tbody(rows), className="facts")])


def _pictures(context: Context) -> list[object]:
    """Every view of the shown model with its fidelity."""
    corpus = context.corpus
    rows = [_picture(context, view) for view in corpus.views]
    judged_on = ", ".join(dict.fromkeys(str(corpus.view(view).attrs["judged_on"]) for view in corpus.views))
    return [
        html.H2(f"Pictures of {corpus.name}"),
        html.P(
            [
                f"Means over heads on {judged_on}. The first view is the default.",
                info("the fidelity of pictures", _FIDELITY),
            ],
            className="caption",
        ),
        html.Table(
            [heading(PICTURE_COLUMNS, {*PICTURE_COLUMNS[1:5], "build time"}), html.Tbody(rows)],
            className="rows pictures",
        ),
    ]


def _picture(context: Context, view: str) -> html.Tr:
    opened = context.corpus.view(view)
    means = shown_fidelity(opened).mean(("layer", "head"))
    numbers = [float(means.sel(measure=name)) for name in ("spearman", "recall", "across", "trustworthiness")]
    link = dcc.Link(
        view, href=context.state.with_(page="heads", view=view, at=None).href, title=str(opened.attrs["title"])
    )
    fitted = f"{opened.attrs['sample_tokens']:,} tokens{authors_size(view)}"
    seconds = f"{opened.attrs['seconds']:,.0f} s"
    cells = [link, *(f"{number:.2f}" for number in numbers), fitted, seconds]
    return html.Tr([_cell(name, content) for name, content in zip(PICTURE_COLUMNS, cells, strict=True)])


def _cell(name: str, content: object) -> html.Td:
    """A narrow window has no row of titles: every cell has its own."""
    kind = None if name in ("view", "fitted on") else "number"
    titled: dict[str, Any] = {"data-name": name}
    return html.Td(content, className=kind, **titled)


def _history(described: Description, context: Context) -> list[object]:
    rows = [
        html.Tr(
            [
                html.Td(_moment(old["published"])),
                html.Td(dcc.Link(old["snapshot"], href=f"/?snapshot={old['snapshot']}")),
                html.Td(old["message"]),
            ]
        )
        for old in described.history
    ]
    shown = "" if context.state.snapshot is None else " This link shows an older snapshot."
    return [
        html.H2("History"),
        html.P(f"Published snapshots, newest first; a snapshot's link shows the dashboard as it was then.{shown}"),
        dmc.Table(html.Tbody(rows), className="facts"),
    ]


def _refreshing() -> list[object]:
    return [
        html.H2("Updating the store"),
        html.P("An ingest computes only what is missing; this server shows it without a restart."),
        html.Pre(
            "headscape ingest --store=<this store> --sentences=8000         # more of the same corpus\n"
            "headscape ingest --store=<this store> --model=<folder or name> # another model beside this one\n"
            "headscape expire --store=<this store> --days=7                  # delete snapshots replaced more than 7 days ago",
            tabIndex=0,
        ),
    ]
