"""Page Store: what was ingested, when and how, the ingest under way, pictures and history. It names no folders of the server."""

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.points.captions import FIDELITY, authors_size, shown_fidelity
from dashboard.store_page.history import changes_section, history_section, published_at
from dashboard.store_page.settings import command, readable_settings
from dashboard.store_page.table import stacked_table
from dashboard.ui.controls import info
from dashboard.ui.page import Page
from dashboard.ui.progress import STORE, UNDER_WAY, ingest_state
from dashboard.web.context import Context
from store.describe import CorpusDescription, Description, ModelDescription, describe
from store.wording import many

PICTURE_COLUMNS = ("view", "Spearman", "recall@3", "across", "trustworthiness", "fitted on", "build time")


def layout(context: Context) -> Page:
    """The page of a link."""
    described = describe(context.snapshot)
    parts = [
        html.H1("Store"),
        *_contents(described, context),
        *_under_way(context),
        *[_settings(model) for model in described.models if model.key == context.corpus.name],
        *_pictures(context),
        *history_section(described, context),
        *changes_section(context),
        *[_table(f"Model {model.model}", _model_facts(model)) for model in described.models],
        *[_settings(model) for model in described.models if model.key != context.corpus.name],
        *[_table(f"Corpus {corpus.name}", _corpus_facts(corpus)) for corpus in described.corpora],
        *_refreshing(),
    ]
    return Page(above=parts)


def _contents(described: Description, context: Context) -> list[object]:
    """A line on the store, and a row for each model."""
    size = "" if described.bytes is None else f", {described.bytes / 1e6:,.0f} MB with its history"
    columns = ("model", "corpus", "sentences", "tokens", "heads", "pictures", "ingested")
    names = {corpus.key: corpus.name for corpus in described.corpora}
    rows = [_model_row(context, model, names[model.corpus]) for model in described.models]
    return [
        html.P(
            f"Snapshot {described.snapshot[:8]}, published {published_at(described.published)}{size}.",
            className="caption",
            title=described.snapshot,
        ),
        stacked_table(columns, rows, numbers=columns[2:6]),
    ]


def _model_row(context: Context, model: ModelDescription, corpus: str) -> list[object]:
    heads = dcc.Link(model.model, href=context.state.with_(model=model.key, since=None).on("heads").href)
    shape = f"{model.layers} x {model.heads}"
    numbers = f"{model.sentences:,}", f"{model.tokens:,}", shape, str(len(model.views))
    return [heads, corpus, *numbers, published_at(model.finished)]


def _under_way(context: Context) -> list[object]:
    """The ingest that runs now, followed as long as the page is open, and the pictures that it has yet to make."""
    line = html.Div(ingest_state(context.ingest), id={UNDER_WAY: STORE}, role="status", className="under-way")
    pending = _pending(context) if context.ingest else []
    waiting = f"{many(len(pending), 'requested picture')} to come."
    about = info("the pictures to come", f"{', '.join(pending)}.")
    return [html.H2("Ingest"), line, *([html.P([waiting, about], className="caption")] if pending else [])]


def _pending(context: Context) -> list[str]:
    """Pictures that the settings of the shown model name and the snapshot lacks."""
    requested = str(context.corpus.attributes["provenance"]["settings"].get("views") or "").split(",")
    return [view for view in map(str.strip, requested) if view not in ("", "none", *context.corpus.views)]


def _settings(model: ModelDescription) -> html.Section:
    """What the ingest of a model was asked for, and the command that repeats it."""
    settings: Mapping[str, Any] = model.provenance["settings"]
    shown = html.Details([html.Summary("As a command"), html.Pre(command(settings), tabIndex=0)])
    return html.Section([*_titled(f"Settings of {model.model}", readable_settings(settings)), shown])


def _model_facts(model: ModelDescription) -> dict[str, str]:
    provenance: Mapping[str, Any] = model.provenance
    return {
        "shape": f"{model.layers} layers x {model.heads} heads x {model.channels} channels",
        "attention": model.attention,
        "stages": ", ".join(model.stages) or "none",
        "feature points": "; ".join(f"{token_set.points} of {token_set.title}" for token_set in model.token_sets)
        or "none",
        "computed in": f"{model.dtype} on {provenance['device']}, {provenance['batch_tokens']:,} tokens per batch",
        "versions": ", ".join(f"{name} {version}" for name, version in provenance["versions"].items()),
        "revision": str(provenance["revision"]),
        "weights sha256": model.weights_sha256,
    }


def _corpus_facts(corpus: CorpusDescription) -> dict[str, str]:
    return {
        "key": corpus.key,
        "sentences": f"{corpus.sentences:,}, in the order of their content hash: every prefix is a uniform sample",
        "labels": ", ".join(corpus.label_names) or "none",
        "cut": f"{many(corpus.truncated, 'sentence')} had more than {corpus.max_length} wordpieces",
        "data": corpus.data_identity,
    }


def _table(title: str, facts: Mapping[str, str]) -> html.Section:
    return html.Section(_titled(title, facts))


def _titled(title: str, facts: Mapping[str, str]) -> list[object]:
    rows = [html.Tr([html.Th(name, scope="row"), html.Td(value)]) for name, value in facts.items()]
    return [html.H2(title), dmc.Table(html.Tbody(rows), className="facts")]


def _pictures(context: Context) -> list[object]:
    """Every view of the shown model with its fidelity."""
    corpus = context.corpus
    rows = [_picture(context, view) for view in corpus.views]
    judged_on = ", ".join(dict.fromkeys(str(corpus.view(view).attrs["judged_on"]) for view in corpus.views))
    return [
        html.H2(f"Pictures of {corpus.attributes['model_id']}"),
        html.P(
            [
                f"Means over heads on {judged_on}. The first view is the default.",
                info("the fidelity of pictures", FIDELITY),
            ],
            className="caption",
        ),
        stacked_table(PICTURE_COLUMNS, rows, numbers={*PICTURE_COLUMNS[1:5], "build time"}),
    ]


def _picture(context: Context, view: str) -> list[object]:
    opened = context.corpus.view(view)
    means = shown_fidelity(opened).mean(("layer", "head"))
    numbers = [float(means.sel(measure=name)) for name in ("spearman", "recall", "across", "trustworthiness")]
    link = dcc.Link(view, href=context.state.with_(view=view).on("heads").href, title=str(opened.attrs["title"]))
    fitted = f"{opened.attrs['sample_tokens']:,} tokens{authors_size(view)}"
    return [link, *(f"{number:.2f}" for number in numbers), fitted, f"{opened.attrs['seconds']:,.0f} s"]


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
