"""What an exported number is of, for the files of other tools: model, data, snapshot, licences, and whether texts leave."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.published.provenance import EMBEDDED, licence
from store import Corpus

#: A name on the hub: no path.
_OF_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True)
class Terms:
    """What is exported of a corpus.

    Attributes
    ----------
    model, data
        Their names: of a model of the hub the name there, of a folder its own name, never its path.
    facts
        Snapshot and licences.
    text
        Whether sentences and wordpieces of the corpus are.
    """

    model: str
    data: str
    facts: Mapping[str, str]
    text: bool = True


def terms_of(corpus: Corpus, licences: Mapping[str, str], *, text: bool = True) -> Terms:
    """Those of a corpus; `licences` of "model" and "data" are those that somebody gives."""
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
