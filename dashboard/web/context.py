"""Meaning of a link in the store: the state within the bounds of a corpus, the snapshot and the model."""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote_plus

from dashboard.web.bounds import Bounds, bounds_of, feature_bounds
from dashboard.web.errors import remedy_text
from dashboard.web.paths import first_page, links_of, page_name, page_of, page_of_fields
from dashboard.web.served_store import ServedStore
from dashboard.web.state import (
    DEFAULTS,
    FIELDS,
    MOST_OF_PAIR,
    MOST_TYPED,
    OF_SNAPSHOT,
    TRIAL,
    Kind,
    LinkState,
    Of,
    heads_numbers,
)
from dashboard.web.token_sets import TokenSets, review_name
from store import Corpus, Snapshot, StoreError
from store.features import Features
from store.repository.errors import SnapshotNotFound
from store.repository.ingest_status import IngestProgress
from store.schema.features import stored_point
from store.schema.model import varying_statistics

#: Most characters of a link.
MAX_QUERY = 8_000
#: Fields of feature points: bounds of some depend on other fields.
_OF_FEATURE_POINTS = ("material", "review", "vectors", "fview", "point", "fcolour", "fonly", "ftoken", "flasso", "fit")
#: Fields that `LinkReader.read` alone does not read.
_READ_APART = (
    "model",
    "snapshot",
    "view",
    "pinned",
    "without",
    "text",
    "second",
    "statistic",
    "other",
    *_OF_FEATURE_POINTS,
)
_SIMPLE = tuple(name for name in FIELDS if name not in _READ_APART)

#: Numbers whose upper bound only a page knows, such as positions in its sentence: no notice names the bound of links.
_OPEN_ENDED = frozenset({"review", "leaf", "start", "answer", "toward", "window", "keywindow"})

_NUMBERS = re.compile(r"\d{1,4}(\.\d{1,4}){0,600}")

T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    """Meaning of a link: state, snapshot, model, and notices on fields of the link that were changed."""

    state: LinkState
    snapshot: Snapshot
    corpus: Corpus
    notices: tuple[str, ...]
    served_store: ServedStore
    ingest: IngestProgress | None = None
    #: A notice where the snapshot of the link or of the tab is missing and the newest is shown; else None.
    missing_snapshot: str | None = None
    #: Whether the link names at most a page, a model and a snapshot.
    bare: bool = False
    #: Whether the page has chosen fields that a bare link leaves open: the browser then completes the link.
    completed: bool = False
    _shared: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def share(self, key: Hashable, compute: Callable[[], T]) -> T:
        """A value that several parts of one page need: the result of the first `compute` for this key."""
        if key not in self._shared:
            self._shared[key] = compute()
        return self._shared[key]

    @property
    def view(self) -> str:
        """Name of the shown view."""
        return self.state.view or self.corpus.views[0]

    @property
    def every_notice(self) -> tuple[str, ...]:
        """Every notice on changed fields of the link."""
        return (*([self.missing_snapshot] if self.missing_snapshot else []), *self.notices)


@dataclass(frozen=True)
class LinkReader:
    """Reads the fields of a link; replaces a value out of its bounds, with a notice.

    Attributes
    ----------
    written
        The fields of the link, as texts.
    bounds
        The bounds that each `Of` names, in the open store.
    notices
        List to which the reader adds notices.
    """

    written: Mapping[str, str]
    bounds: Mapping[Of, range | tuple[str, ...]]
    notices: list[str]

    def read(self, name: str) -> Any:
        """The value of a field within its bounds; the default where the link does not hold the field."""
        if name not in self.written:
            return DEFAULTS[name]
        field = FIELDS[name]
        bounds = self.bounds[field.bounds] if isinstance(field.bounds, Of) else field.bounds
        readers: Mapping[Kind, Callable[[str, str, Any], Any]] = {
            "number": self._number,
            "share": self._share,
            "choice": self._choice,
            "switch": self._choice,
            "numbers": self._numbers,
            "text": self._text,
            "typed": self._typed,
            "conditions": self._conditions,
            "pattern": self._pattern,
        }
        return readers[field.kind](name, self.written[name], bounds)

    def typed_pair(self) -> tuple[str | None, str | None]:
        """`text` and `second`: each may take the bytes of a link that the other leaves, at least half of all."""
        second = min(len(quote_plus(self.written.get("second", "").strip())), MOST_OF_PAIR // 2)
        text = self._typed("text", self.written.get("text", ""), min(MOST_TYPED, MOST_OF_PAIR - second))
        left = MOST_OF_PAIR - len(quote_plus(text or ""))
        return text, self._typed("second", self.written.get("second", ""), min(MOST_TYPED, left))

    def _number(self, name: str, text: str, bounds: range) -> int | None:
        """A whole number, or the nearest within the bounds."""
        digits = text.removeprefix("-")
        is_whole = digits.isascii() and digits.isdigit()
        if name in _OPEN_ENDED:
            return self._open_ended(name, text, bounds) if is_whole else self._ignored(name)
        there = self._there(name, bounds)
        if not is_whole:
            return self._default(name, f"is not a whole number ({_range_text(there)})")
        if len(text) >= 12:
            return self._default(name, f"is out of range ({_range_text(there)})")
        number = max(bounds[0], min(int(text), bounds[-1]))
        if number != int(text):
            shown = min(number, there[-1])
            self.notices.append(f"{name}={text} {self._beyond(name, int(text), there)}; showing {shown:,}")
        return number

    def _open_ended(self, name: str, text: str, bounds: range) -> int | None:
        """The number within its bounds, else None; of a too large review the bound, which the page corrects once it has read the data."""
        number = int(text) if len(text) < 12 else bounds[-1] + 1
        if number in bounds:
            return number
        return bounds[-1] if name == "review" and number > 0 else self._ignored(name)

    def _beyond(self, name: str, number: int, there: range) -> str:
        """Why a number is not shown: it is out of range, or its sentence is counted but has no vectors."""
        if name == "sentence" and number in self.bounds[Of.COUNTED_SENTENCES]:
            return no_vectors(len(there))
        return f"is out of range ({_range_text(there)})"

    def _there(self, name: str, bounds: range) -> range:
        """The bounds that a notice names: for tokens at most the tokens of the store, which a page may exceed."""
        return range(1, min(bounds[-1], len(self.bounds[Of.TOKENS])) + 1) if name == "tokens" else bounds

    def _share(self, name: str, text: str, _bounds: None) -> float | None:
        if re.fullmatch(r"[01](\.\d{1,6})?", text) and float(text) <= 1:
            return float(text)
        return self._default(name, "is not a number from 0 to 1")

    def _choice(self, name: str, text: str, bounds: tuple[str, ...]) -> str | None:
        return text if text in bounds else self._ignored(name)

    def _numbers(self, name: str, text: str, bounds: range) -> str | None:
        """Whole numbers such as `3.4`, each once; None where none is within the bounds."""
        if not _NUMBERS.fullmatch(text):
            return self._ignored(name)
        each = dict.fromkeys(map(int, text.split(".")))
        within = [number for number in each if number in bounds]
        if len(within) < len(each):
            self.notices.append(f"{name}={text[:40]}: ignored numbers out of range ({_range_text(bounds)})")
        return ".".join(map(str, within)) or None

    def _text(self, name: str, text: str, most: int) -> str | None:
        text = text.strip()
        if len(text) > most:
            self.notices.append(f"{name} is longer than {most:,} characters; using the first {most:,}")
        return text[:most] or None

    def _conditions(self, name: str, text: str, most: int) -> str | None:
        """The conditions, separated by `;` and `|`, that fit whole into `most` characters."""
        text = text.strip()
        if len(text) <= most:
            return text or None
        self.notices.append(f"{name} is longer than {most:,} characters; ignoring the conditions beyond them")
        return text[: max(0, *(text.rfind(mark, 0, most + 1) for mark in ";|"))] or None

    def _pattern(self, name: str, text: str, pattern: str) -> str | None:
        return text if re.fullmatch(pattern, text) else self._ignored(name)

    def _typed(self, name: str, text: str, most: int) -> str | None:
        """The beginning of a text, at most `most` bytes in a link."""
        if text and not text.strip() and name == "text":
            self.notices.append("The typed text is empty. Type a sentence; showing one of the corpus")
        whole = text.strip()
        cut = whole[:most]
        while (size := len(quote_plus(cut))) > most:
            cut = cut[: len(cut) * most // size]
        if cut != whole:
            self.notices.append(f"The text is too long for a link; showing its first {len(cut):,} characters")
        return cut or None

    def _default(self, name: str, problem: str) -> Any:
        default = DEFAULTS[name]
        if default is None:
            return self._ignored(name)
        shown = min(default, len(self.bounds[Of.TOKENS])) if name == "tokens" else default
        self.notices.append(f"{name}={self.written[name][:40]} {problem}; showing {shown:,}")
        return default

    def _ignored(self, name: str) -> Any:
        self.notices.append(f"Ignored an invalid parameter: {name}={self.written[name][:40]}")
        return DEFAULTS[name]


def resolve(
    served_store: ServedStore, pathname: str | None, search: str | None, standing: str | None = None
) -> Context:
    """The context of a link in a tab that shows the snapshot `standing`. Raises StoreError only where nothing can be shown."""
    notices: list[str] = []
    written = _written(search or "", notices)
    page = _page(pathname, written, notices)
    snapshot, missing = _snapshot(served_store, written.get("snapshot"), standing)
    corpus = _corpus(snapshot, written.get("model"), notices)
    ingest = served_store.ingest
    reader = LinkReader(written, bounds_of(snapshot, corpus, page), notices)
    state = LinkState(
        page=page,
        model=corpus.name if len(snapshot.models) > 1 or written.get("model") == corpus.name else None,
        snapshot=snapshot.id if written.get("snapshot") and not missing else None,
        view=_view(reader, ingest),
        other=_other(reader, page, corpus),
        **_values(reader),
        **_read_feature_fields(served_store, reader, corpus, page),
    )
    return Context(state, snapshot, corpus, tuple(notices), served_store, ingest, missing, _is_bare(written))


def _written(search: str, notices: list[str]) -> dict[str, str]:
    """The fields of a link as texts."""
    if len(search) > MAX_QUERY:
        notices.append(f"The link is longer than {MAX_QUERY:,} characters; ignoring the rest")
    return dict(parse_qsl(search[:MAX_QUERY].lstrip("?"), max_num_fields=None))


def _page(pathname: str | None, written: Mapping[str, str], notices: list[str]) -> str:
    """The page of a link. Page Heads was once the first page: older links such as `/?colour=norm` still open it."""
    name = page_name(pathname or "/")[:80]
    if page := page_of(name):
        return page
    if name:
        notices.append(f"Unknown page: {name}; showing the {first_page()}")
    return first_page() if name or _is_bare(written) else page_of_fields()


def _is_bare(written: Mapping[str, str]) -> bool:
    return not written.keys() & (FIELDS.keys() - OF_SNAPSHOT)


def _snapshot(served_store: ServedStore, named: str | None, standing: str | None) -> tuple[Snapshot, str | None]:
    """The snapshot that a link names, else the tab's; where this is missing, the newest and a notice."""
    name = (named or standing or "")[:80]
    if not name:
        return served_store.snapshot(), None
    try:
        return served_store.snapshot(name), None
    except SnapshotNotFound:
        missing = f"This store has no snapshot {name}" if named else "The snapshot that this tab showed was deleted"
        return served_store.snapshot(), f"{missing}; showing the newest."
    except StoreError as error:
        return served_store.snapshot(), f"{error} Showing the newest."


def _corpus(snapshot: Snapshot, model: str | None, notices: list[str]) -> Corpus:
    if model and model not in snapshot.models:
        notices.append(f"Unknown model: {model[:80]}; showing the one ingested last")
    return snapshot.corpus(model if model in snapshot.models else None)


def _values(reader: LinkReader) -> dict[str, Any]:
    """Every field that depends neither on other models nor on feature points."""
    values = {name: reader.read(name) for name in _SIMPLE}
    values["text"], values["second"] = reader.typed_pair()
    values["statistic"] = _statistic(reader, values["source"])
    values["pinned"], values["without"] = (_heads(reader, name) for name in ("pinned", "without"))
    return values


def _view(reader: LinkReader, ingest: IngestProgress | None) -> str | None:
    """The view of the link; None for the default."""
    name, views = reader.written.get("view"), reader.bounds[Of.VIEWS]
    if name and name not in views:
        shown = "; showing the most faithful view" if views else "; there is no view yet"
        remedy = remedy_text(ingest, "Run `headscape projections --views=...` to add it.")
        reader.notices.append(f"Unknown view: {name[:80]}{shown}. {remedy}")
    return name if name in views[1:] else None


def _heads(reader: LinkReader, name: str) -> str | None:
    """Heads of the model, such as `3-7` or `2-8.3-1`, each once; None where the model has none of them."""
    layers, of_layer = reader.bounds[Of.LAYERS], reader.bounds[Of.HEADS]
    each = dict.fromkeys(heads_numbers(reader.read(name)))
    within = [(layer, head) for layer, head in each if layer in layers and head in of_layer]
    if len(within) < len(each):
        there = f"layers 0-{len(layers) - 1}, heads 0-{len(of_layer) - 1}"
        problem = "is not a head" if len(each) == 1 else "names heads that are not"
        shown = reader.written[name][:40]
        reader.notices.append(
            f"{name}={shown} {problem} of the model ({there}); ignoring {'it' if len(each) == 1 else 'them'}"
        )
    return ".".join(f"{layer}-{head}" for layer, head in within) or None


def _statistic(reader: LinkReader, source: str) -> str | None:
    """The link's statistic if heads differ in it over these queries; None where the page chooses one."""
    name: str | None = reader.read("statistic")
    if name is None or name in varying_statistics(source):
        return name
    reader.notices.append(
        "Over all queries, attention received is 1 in every head; showing another statistic. Choose other queries."
    )
    return None


def _other(reader: LinkReader, page: str, corpus: Corpus) -> str | None:
    name = reader.written.get("other")
    if name is None or name in reader.bounds[Of.OTHER_MODELS]:
        return name
    if name == corpus.name:
        reader.notices.append("A model cannot be compared with itself. Choose another one.")
        return None
    reader.notices.append(f"There is no other model {name[:80]} {links_of(page).other_models_are}; ignoring it")
    return None


def _read_feature_fields(served_store: ServedStore, reader: LinkReader, corpus: Corpus, page: str) -> dict[str, Any]:
    """The fields of feature points; none where the store has no token set. A review that is not read yet takes the sample's bounds."""
    if not corpus.token_sets:
        return {}
    sample = corpus.token_sets[0]
    written = _keep_sample_fields(reader.written, sample) if links_of(page).sample else reader.written
    reader = replace(reader, written=_stored_points(written))
    token_set = reader.read("material") or sample
    review = reader.read("review")
    name = token_set if review is None else review_name(review)
    features = served_store.service(TokenSets).find(corpus, name) or corpus.features(sample)
    reader = _bounded(reader, _feature_bounds(corpus, features, None))
    vectors = reader.read("vectors")
    layer = None if vectors is None else int(vectors)
    reader = _bounded(reader, _feature_bounds(corpus, features, layer))
    own = {name: reader.read(name) for name in ("fview", "point", "fcolour", "fonly", "ftoken", "flasso", "fit")}
    return own | {"material": None if token_set == sample else token_set, "review": review, "vectors": layer}


def _feature_bounds(corpus: Corpus, features: Features, layer: int | None) -> Bounds:
    """Bounds of a token set. A review outside the store has fewer pictures: the sample's pictures count too, from another token set."""
    own = feature_bounds(corpus, features, layer)
    if features.name in corpus.token_sets:
        return own
    views = feature_bounds(corpus, corpus.features(corpus.token_sets[0]), layer)[Of.FEATURE_VIEWS]
    return {**own, Of.FEATURE_VIEWS: tuple(dict.fromkeys([*own[Of.FEATURE_VIEWS], *views]))}


def _bounded(reader: LinkReader, more: Bounds) -> LinkReader:
    return replace(reader, bounds={**reader.bounds, **more})


def _stored_points(written: Mapping[str, str]) -> dict[str, str]:
    """The fields with the store's names of feature points: links say `L00.layer_output` or, as the store, `L00.feedforward`."""
    stored = dict(written)
    for name in stored.keys() & {"point", "fit"}:
        stored[name] = stored_point(stored[name])
    if (fitted := stored.get("fview", "").partition("-"))[2]:
        stored["fview"] = f"{fitted[0]}-{stored_point(fitted[2])}"
    return stored


def _keep_sample_fields(written: Mapping[str, str], sample: str) -> dict[str, str]:
    """The fields without those of a review, of values and of a trial."""
    is_review = written.get("material", sample) != sample or "review" in written
    of_review = ("fonly", "ftoken", "flasso") if is_review else ()
    of_values = ("fview", "point") if "vectors" in written else ()
    of_trial = ("fview",) if written.get("fview") == TRIAL else ()
    left_out = {"material", "review", "vectors", *of_review, *of_values, *of_trial}
    return {name: text for name, text in written.items() if name not in left_out}


def no_vectors(sentences: int) -> str:
    """Why a sentence is not shown where only the first `sentences` have vectors, and what to do."""
    return f"has no stored vectors ({_range_text(range(sentences))} have): run `headscape ingest --vectors=all`"


def _range_text(bounds: range) -> str:
    return f"{bounds[0]}-{bounds[-1]:,}"
