"""Page Store: what was ingested, when and how, the ingest under way, pictures and history. It names no folders of the server."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from dashboard.access.person import current_person
from dashboard.points.captions import FIDELITY, authors_size, shown_fidelity
from dashboard.store_page.history import changes_section, history_section, published_at
from dashboard.store_page.settings import command, readable_settings
from dashboard.store_page.table import stacked_table
from dashboard.topic import Topic
from dashboard.ui.controls import info
from dashboard.ui.page import STORE, UNDER_WAY, Page, ingest_state
from dashboard.ui.text import has_part, naming
from dashboard.web.context import Context
from dashboard.web.paths import PageLinks
from dashboard.web.results import cached
from store import Corpus
from store.describe import CorpusDescription, Description, ModelDescription, contents_of, describe
from store.phrases import MANY_CUT, cut_sentences, first_reviews, many, utc

_contents_of = cached(contents_of)
_NO_FINGERPRINTS = (
    "Files of this store that hold the bytes of one another would not be noticed when they are read: "
    "it is in object storage, or an older Headscape published it. On a disk the next publication adds what is missing."
)
#: What pages call the tokens before and after a text, whatever the tokenizer calls them.
NAMED = ("[CLS]", "[SEP]")
PICTURE_MEASURES = ("spearman", "recall", "across", "trustworthiness")
PICTURE_COLUMNS = ("picture", "Spearman", "recall@3", "across", "trustworthiness", "fitted on", "build time")


def layout(context: Context) -> Page:
    """The page of a link: what was ingested and when, then how."""
    described = describe(context.snapshot, _contents_of(context.snapshot))
    shown_first = sorted(described.models, key=lambda model: model.key != context.corpus.name)
    parts = [
        html.H1("Store"),
        *_contents(described, context),
        *[alert for corpus in described.corpora for alert in many_cut(corpus)],
        *_under_way(context),
        *_failed_ingest(context),
        *history_section(described, context),
        *changes_section(context),
        *_pictures(context),
        *[_model(model) for model in shown_first],
        *[_corpus(corpus, context.corpus) for corpus in described.corpora],
        *_refreshing(context.corpus),
    ]
    return Page(above=parts)


def _contents(described: Description, context: Context) -> list[object]:
    """A line on the store, and a row for each model."""
    size = "" if described.bytes is None else f"; {described.bytes / 1e6:,.0f} MB with its history"
    columns = ("model", "corpus", "sentences", "tokens", "heads", "pictures", "ingested")
    names = {corpus.key: corpus.name for corpus in described.corpora}
    rows = [_model_row(context, model, names[model.corpus]) for model in described.models]
    published = f"Published {published_at(described.published)} as snapshot {described.snapshot[:8]}{size}."
    return [
        html.P(published, className="how-to-read", title=described.snapshot),
        *([] if described.fingerprinted else [html.P(_NO_FINGERPRINTS, className="caption")]),
        stacked_table(columns, rows, numbers=columns[2:6]),
    ]


def _model_row(context: Context, model: ModelDescription, corpus: str) -> list[object]:
    heads = dcc.Link(html.Bdi(model.model), href=context.state.with_(model=model.key, since=None).on("heads").href)
    shape = f"{model.layers} x {model.heads}"
    numbers = f"{model.counted_sentences:,}", f"{model.counted_tokens:,}", shape, str(len(model.views))
    return [heads, html.Bdi(corpus), *numbers, published_at(model.finished)]


def many_cut(corpus: CorpusDescription) -> list[object]:
    """That many sentences of a corpus were cut: what follows the cut is in no number."""
    if corpus.truncated <= MANY_CUT * corpus.sentences:
        return []
    cut = cut_sentences(corpus.truncated, corpus.sentences, corpus.max_length)
    remedy = f"What follows the cut is in no number. Ingest with a --max-length above {corpus.max_length}, or with shorter sentences."
    text = naming(f"Corpus {corpus.name}: {cut}. {remedy}", corpus.name, "--max-length")
    return [dmc.Alert(text, color="orange", variant="light", className="failed")]


def _under_way(context: Context) -> list[object]:
    """The ingest that runs now, followed as long as the page is open, and the pictures that it has yet to make."""
    line = html.Div(ingest_state(context.ingest), id={UNDER_WAY: STORE}, role="status", className="under-way")
    pending = _pending(context) if context.ingest else []
    waiting = f"{many(len(pending), 'requested picture')} to come."
    about = info("the pictures to come", f"{', '.join(pending)}.")
    return [html.H2("Ingest"), line, *([html.P([waiting, about], className="caption")] if pending else [])]


def _failed_ingest(context: Context) -> list[object]:
    """That the last ingest failed; why, for authors alone: it may name folders of the server."""
    outcome = context.library.last_ingest
    if outcome is None or not outcome.failure or context.ingest is not None:
        return []
    when = utc(datetime.fromtimestamp(outcome.ended, UTC))
    why = outcome.failure if current_person().writes else "Tell those who run this server."
    return [dmc.Alert(f"The last ingest failed on {when}. {why}", color="orange", variant="light", className="failed")]


def _pending(context: Context) -> list[str]:
    """Pictures that the settings of the shown model name and the snapshot lacks."""
    requested = str(context.corpus.attributes["provenance"]["settings"].get("views") or "").split(",")
    return [view for view in map(str.strip, requested) if view not in ("", "none", *context.corpus.views)]


def _model(model: ModelDescription) -> html.Section:
    """What a model is and with which settings it was ingested; a click away, what only a repetition needs."""
    settings: Mapping[str, Any] = model.provenance["settings"]
    return html.Section(
        [
            html.H2(["Model ", html.Bdi(model.model)]),
            _facts(_model_facts(model) | readable_settings(settings)),
            _details(
                "Versions, checksums and command",
                _provenance(model),
                html.Pre(command(settings), tabIndex=0, className="commands"),
            ),
        ]
    )


def _model_facts(model: ModelDescription) -> dict[str, Any]:
    token_sets = [f"{token_set.points} of {token_set.title}" for token_set in model.token_sets]
    complete = model.tokens == model.counted_tokens
    return {
        "shape": f"{model.layers} layers x {model.heads} heads x {model.channels} channels",
        "computed in": [html.Bdi(model.dtype), " on ", html.Bdi(str(model.provenance["device"]))],
        "statistics of heads": f"of all {_size(model.counted_sentences, model.counted_tokens)}",
        "vectors and pictures": f"of {'all' if complete else 'the first'} {_size(model.sentences, model.tokens)}",
        "finished stages": ", ".join(model.stages) or "none",
        "feature points": "; ".join(token_sets) or "none",
    }


def _size(sentences: int, tokens: int) -> str:
    return f"{many(sentences, 'sentence')} ({many(tokens, 'token')})"


def _provenance(model: ModelDescription) -> dict[str, Any]:
    provenance: Mapping[str, Any] = model.provenance
    return {
        "attention": html.Bdi(model.attention),
        "batches": f"{provenance['batch_tokens']:,} tokens",
        "versions": html.Bdi(", ".join(f"{name} {version}" for name, version in provenance["versions"].items())),
        "revision": html.Bdi(str(provenance["revision"])),
        "weights sha256": html.Bdi(model.weights_sha256),
    }


def _corpus(corpus: CorpusDescription, opened: Corpus) -> html.Section:
    facts = {
        "sentences": [f"{corpus.sentences:,}, a uniform sample of ", html.Bdi(corpus.name)],
        "labels": html.Bdi(", ".join(corpus.label_names)) if corpus.label_names else "none",
        "cut": cut_sentences(corpus.truncated, corpus.sentences, corpus.max_length),
        "splitter": html.Bdi(corpus.splitter),
    }
    if corpus.first:
        facts["sample of"] = f"{first_reviews(corpus.first, corpus.reviews_in_data)}; the others are in no number"
    if corpus.marked:
        facts["special tokens"] = f"in the text of {many(corpus.marked, 'sentence')}: the model reads them as such"
    first, *_, last = (piece.text for piece in opened.sentence_pieces(0))
    if corpus.key == opened.attributes["corpus"] and (first, last) != NAMED:
        facts[" and ".join(NAMED)] = ["are ", html.Bdi(first), " and ", html.Bdi(last), " of the tokenizer"]
    identity: dict[str, Any] = {
        "key": html.Bdi(corpus.key),
        "order": "by content hash, so that every prefix is a uniform sample",
    }
    return html.Section(
        [
            html.H2(["Corpus ", html.Bdi(corpus.name)]),
            _facts(facts),
            _details("Checksums", identity | {"data": html.Bdi(corpus.data_identity)}),
        ]
    )


def _facts(facts: Mapping[str, Any]) -> dmc.Table:
    rows = [html.Tr([html.Th(name, scope="row"), html.Td(value)]) for name, value in facts.items()]
    return dmc.Table(html.Tbody(rows), className="facts")


def _details(title: str, facts: Mapping[str, Any], *more: Component) -> html.Details:
    return html.Details([html.Summary(title), _facts(facts), *more])


def _pictures(context: Context) -> list[object]:
    """Every view of the shown model with its fidelity."""
    corpus = context.corpus
    rows = [_picture(context, view) for view in corpus.views]
    judged_on = ", ".join(dict.fromkeys(str(corpus.view(view).attrs["judged_on"]) for view in corpus.views))
    return [
        html.H2(["Pictures of ", html.Bdi(corpus.title)]),
        html.P(
            [
                f"Means over heads on {judged_on}. The first is the default.",
                info("the fidelity of pictures", FIDELITY),
            ],
            className="caption",
        ),
        stacked_table(PICTURE_COLUMNS, rows, numbers={*PICTURE_COLUMNS[1:5], "build time"}),
    ]


def _picture(context: Context, view: str) -> list[object]:
    opened = context.corpus.view(view)
    numbers = _mean_fidelity(context.corpus, view)
    link = dcc.Link(str(opened.attrs["title"]), href=context.state.with_(view=view).on("heads").href, title=view)
    fitted = f"{opened.attrs['sample_tokens']:,} tokens{authors_size(view)}"
    return [link, *(f"{number:.2f}" for number in numbers), fitted, f"{opened.attrs['seconds']:,.0f} s"]


@cached
def _mean_fidelity(corpus: Corpus, view: str) -> tuple[float, ...]:
    means = shown_fidelity(corpus.view(view)).mean(("layer", "head"))
    return tuple(float(means.sel(measure=name)) for name in PICTURE_MEASURES)


def _refreshing(corpus: Corpus) -> list[object]:
    more = "headscape ingest --store=<this store> --vectors=all            # vectors and pictures of every token\n"
    return [
        html.H2("Updating the store"),
        html.P("An ingest computes only what is missing; this server shows it without a restart."),
        html.Pre(
            "headscape ingest --store=<this store> --sentences=8000         # more of the same corpus\n"
            f"{more if has_part(corpus) else ''}"
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
    layout=layout,
    links=PageLinks(former_names=("about",)),
    changes=True,
)
