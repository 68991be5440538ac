"""Contents of a store: each model with the settings and the command of its ingest, and each corpus."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from dashboard.ui.text import naming
from store.describe import CorpusDescription, ModelDescription
from store.phrases import MANY_CUT, cut_sentences, first_reviews, many, written_flags
from store.schema.pictures import ViewName

Settings = Mapping[str, Any]
#: Settings that may name folders of the server; `headscape describe` shows them.
PLACES = ("model", "data", "store", "workers", "scheduler")
#: Largest number of titles that are listed one by one.
FEW = 4
#: Values of settings that leave a choice to the ingest, and that switch a part off.
AUTO, NONE = "auto", "none"


def readable_settings(settings: Settings) -> dict[str, str]:
    """Requested settings of an ingest by title, without its own choices. An ingest of an older Headscape has fewer settings."""
    known = {name: value for name, value in settings.items() if name not in PLACES}
    return {title: text for title, text in _titled(known) if text}


def command(settings: Settings) -> str:
    """The command of an ingest with these settings, without places on the server."""
    named = {name: value for name, value in settings.items() if value is not None and name not in PLACES}
    return " \\\n  ".join(["headscape ingest", *written_flags(named)])


def _titled(settings: Settings) -> Iterator[tuple[str, str]]:
    yield "requested size", _amount(settings)
    yield "vectors", _vectors(settings)
    yield "longest sentence", _worded(settings, "max_length", "wordpieces")
    yield "sample", _worded(settings, "seed", before="seed")
    yield "split into sentences", _choice(settings, "sentence_split")
    yield "split of the data", str(settings.get("data_split") or "")
    yield "reviews that are read", _first(settings)
    yield "columns", " and ".join(f"“{settings[name]}”" for name in ("text", "label") if settings.get(name))
    yield "device, precision", ", ".join(filter(None, (_choice(settings, name) for name in ("device", "dtype"))))
    yield "forward pass", f"{settings['batch']:,} tokens" if settings.get("batch") else ""
    yield "pictures of heads", _listed(list(_titles(settings.get("views"), ViewName.parse)))
    yield "pictures of points", _listed(list(_titles(settings.get("features"), ViewName.parse_points)))
    yield "points, UMAP", _points(settings)
    yield "words and grammar", _choice(settings, "annotate")
    yield "probes of governors", _choice(settings, "probes")
    yield "context mixing", _choice(settings, "mixing")
    yield "head importance", _importance(settings)


def _amount(settings: Settings) -> str:
    amounts = [many(settings[name], name[:-1]) for name in ("sentences", "tokens") if settings.get(name)]
    return amounts[0] if amounts else ""


def _vectors(settings: Settings) -> str:
    """Tokens with stored vectors, in words. An ingest of an older Headscape stored the vectors of every token."""
    vectors = str(settings.get("vectors", ""))
    return f"of the first {many(int(vectors), 'token')}" if vectors.isdigit() else vectors and "of all tokens"


def _first(settings: Settings) -> str:
    first = settings.get("first")
    return f"the first {first:,}" if isinstance(first, int) else str(first or "")


def _worded(settings: Settings, name: str, unit: str = "", before: str = "") -> str:
    return f"{before} {settings[name]} {unit}".strip() if name in settings else ""


def _choice(settings: Settings, name: str) -> str:
    """The value of a setting; empty where the ingest chose, as the facts of the model name its choice."""
    return str(settings.get(name, AUTO)).replace(AUTO, "")


def _listed(titles: Sequence[str]) -> str:
    """A few titles as a list; of many titles only the number, as the command names them all."""
    return "; ".join(titles) if len(titles) <= FEW else f"{len(titles)} requested"


def _titles(names: str | None, parse: Any) -> Iterator[str]:
    """The titles of views from their names."""
    if names == NONE:
        yield NONE
    elif names:
        yield from (parse(name.strip()).title for name in names.split(","))


def _points(settings: Settings) -> str:
    if settings.get("features") in (None, NONE):
        return ""
    umap = ", ".join(
        text
        for text in (
            _worded(settings, "neighbors", "neighbours"),
            _worded(settings, "min_dist", before="minimum distance"),
            _worded(settings, "metric", "distance"),
        )
        if text
    )
    reviews = settings.get("reviews")
    whole = f"; whole reviews: {reviews}" if reviews else ""
    return f"{settings.get('points', 'standard')}; UMAP: {umap}{whole}"


def _importance(settings: Settings) -> str:
    if "importance" not in settings:
        return ""
    return f"over {many(settings['importance'], 'sentence')}" if settings["importance"] else NONE


def many_cut(corpus: CorpusDescription) -> list[object]:
    """An alert where many sentences of a corpus were cut: tokens after the cut are in no number."""
    if corpus.truncated <= MANY_CUT * corpus.sentences:
        return []
    cut = cut_sentences(corpus.truncated, corpus.sentences, corpus.max_length)
    remedy = f"What follows the cut is in no number. Ingest with a --max-length above {corpus.max_length}, or with shorter sentences."
    text = naming(f"Corpus {corpus.name}: {cut}. {remedy}", corpus.name, "--max-length")
    return [dmc.Alert(text, color="orange", variant="light", className="failed")]


def model_section(model: ModelDescription) -> html.Section:
    """Facts of a model and the settings of its ingest; facts that only a repetition needs open on a click."""
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
        "places in the model": "; ".join(token_sets) or "none",
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


def corpus_section(corpus: CorpusDescription) -> html.Section:
    """Facts of a corpus."""
    facts = {
        "sentences": [f"{corpus.sentences:,}, a uniform sample of ", html.Bdi(corpus.name)],
        "labels": html.Bdi(", ".join(corpus.label_names)) if corpus.label_names else "none",
        "cut": cut_sentences(corpus.truncated, corpus.sentences, corpus.max_length),
        "splitter": html.Bdi(corpus.splitter),
    }
    if corpus.first:
        facts["sample of"] = f"{first_reviews(corpus.first, corpus.reviews_in_data)}; the others are in no number"
    if corpus.marked:
        facts["special tokens in texts"] = (
            f"in the text of {many(corpus.marked, 'sentence')}: the model reads them as such"
        )
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
