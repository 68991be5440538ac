"""A link is a view: everything on screen, to and from the URL. Bad input is brought into bounds, and said."""

import re
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlencode

from dashboard.heads.definitions import telling
from dashboard.library import Library
from dashboard.link_reader import LinkReader
from dashboard.pictures.focus import LINES, Lines
from dashboard.pictures.search import WITHIN, Within
from dashboard.pictures.selection import MOST_SOUGHT
from dashboard.sentence.finder import RANKED
from dashboard.sentence.mean_pattern import MEANS
from dashboard.sentence.reader_gone import asker_gone
from dashboard.sentence.sentence import Sentence, stored_sentence
from dashboard.sentence.shown_pattern import PAIRS
from dashboard.sentence.typed import TypedSentences
from store import STATISTICS, Corpus, Snapshot, StoreError
from store.schema import RATIOS, ROLES, SOURCES

PAGES = ("heads", "head", "statistics", "map", "sentence", "about")
SHOWS = ("head", "model", "matrix", "neuron", "positions", "mixing")
ON = ("1",)
#: What the heat map of all heads shows of a statistic.
VALUES = ("value", "rank", "difference")
TABS = ("statistics", "point", "selection", "pairs", "distance")
#: Tokens drawn on the page of one head, unless asked otherwise.
HEAD_TOKENS = 20_000
MOST_TOKENS = 1_000_000
MAX_QUERY = 8_000
#: Lines of a query, and the weight from which on they are drawn: AttentionViz's.
TOP, MOST_TOP, LEAST = 2, 20, 0.05
_MARKS = re.compile(r"\d{1,4}-\d{1,4}(\.\d{1,4}-\d{1,4}){0,40}")
_CAMERA = re.compile(r"-?[\d.]{1,9}(,-?[\d.]{1,9}){2,4}")


@dataclass(frozen=True)
class Address:
    """The state of the dashboard. Names and defaults are those of the link; what is as by default is not in it."""

    page: str = "heads"
    model: str | None = None
    snapshot: str | None = None
    layer: int = 0
    head: int = 0
    tokens: int = HEAD_TOKENS
    view: str | None = None
    colour: str = "role"
    size: str | None = None
    labels: str | None = None
    q: str | None = None
    within: Within = "token"
    where: str | None = None
    lasso: str | None = None
    token: int | None = None
    role: str = "query"
    top: int = TOP
    least: float = LEAST
    lines: Lines = "point"
    marks: str | None = None
    tab: str | None = None
    at: str | None = None
    sentence: int = 0
    text: str | None = None
    second: str | None = None
    show: str = "head"
    heads: str | None = None
    queries: str | None = None
    toward: int | None = None
    weights: str = "attention"
    mean: str = "none"
    ratio: str = "attnresln_n"
    pair: str = "all"
    hide: str | None = None
    special: str | None = None
    renormalize: str | None = None
    words: str | None = None
    rollout: str | None = None
    find: str | None = None
    labelled: str | None = None
    fewest: int | None = None
    most: int | None = None
    by: str | None = None
    statistic: str = "to_sep"
    source: str = "all"
    values: str = "value"
    against: str | None = None
    other: str | None = None
    sort: str | None = None
    named: str | None = None
    behaviour: str | None = None
    paint: str = "layer"

    @property
    def href(self) -> str:
        """The link that restores this state."""
        shown = {"layer", "head"} if self.page == "head" else set()
        given = {
            name: value
            for name, value in self.fields.items()
            if value is not None and (name in shown or value != _DEFAULTS[name])
        }
        query = urlencode(given, safe=",:;|")
        return f"/{'' if self.page == 'heads' else self.page}" + (f"?{query}" if query else "")

    @property
    def fields(self) -> dict[str, Any]:
        """Every field of the link by its name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "page"}

    def on(self, page: str) -> "Address":
        """The same state on another page; where the reader looked at in a picture stays behind."""
        return replace(self, page=page, at=None)

    def of_sentence(self, sentence: int, **changes: object) -> "Address":
        """The page of another sentence of the corpus; what was chosen among the tokens of one before stays behind.

        A token is chosen by its position in a sentence of which every wordpiece is shown.
        """
        plain = ("words", "special", "rollout") if "queries" in changes else ()
        nothing = dict.fromkeys(("text", "second", "queries", "toward", "hide", *plain))
        return self.on("sentence").with_(sentence=sentence, pair="all", **(nothing | changes))

    def with_(self, **changes: object) -> "Address":
        """The same state with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


_DEFAULTS = {one.name: one.default for one in fields(Address)}


@dataclass(frozen=True)
class Place:
    """An address found in the store: what to show, and what of the link had to be changed."""

    address: Address
    snapshot: Snapshot
    corpus: Corpus
    notices: tuple[str, ...]
    typed: TypedSentences

    @cached_property
    def sentence(self) -> Sentence:
        """The sentence that is looked at: the one a reader typed, else one of the corpus."""
        address = self.address
        if address.text is None:
            return stored_sentence(self.corpus, address.sentence)
        return self.typed.encode(self.corpus, address.text, address.second or "", asker_gone)

    @property
    def view(self) -> str:
        """Name of the view on screen."""
        return self.address.view or self.corpus.views[0]


def find(library: Library, pathname: str | None, search: str | None) -> Place:
    """What a link means. Raises StoreError only where there is nothing to show at all."""
    given = dict(parse_qsl((search or "")[:MAX_QUERY].lstrip("?"), max_num_fields=None))
    notices: list[str] = []
    snapshot = _snapshot(library, given.get("snapshot"), notices)
    corpus = _corpus(snapshot, given.get("model"), notices)
    read = LinkReader(given, notices)
    address = Address(
        page=_page(pathname, notices),
        model=corpus.name if len(snapshot.models) > 1 else None,
        snapshot=snapshot.id if "snapshot" in given and snapshot.id == given["snapshot"] else None,
        layer=read.number("layer", range(corpus.layers), 0),
        head=read.number("head", range(corpus.heads), 0),
        tokens=read.number("tokens", range(1, MOST_TOKENS + 1), HEAD_TOKENS),
        view=_view(corpus, given.get("view"), notices),
        colour=read.text("colour", 80) or "role",
        size=read.choice("size", ("norm",), None),
        labels=read.choice("labels", ("1",), None),
        q=read.text("q", MOST_SOUGHT),
        within=read.choice("within", WITHIN, "token"),
        where=read.text("where", 2_000),
        lasso=read.text("lasso", 1_500),
        token=read.number("token", range(corpus.n_tokens), None),
        role=read.choice("role", ROLES, "query"),
        top=read.number("top", range(1, MOST_TOP + 1), TOP),
        least=read.share("least", LEAST),
        lines=read.choice("lines", LINES, "point"),
        marks=read.matching("marks", _MARKS),
        tab=read.choice("tab", TABS, None),
        at=read.matching("at", _CAMERA),
        **_of_sentence(read, corpus),
        **_of_statistics(read),
        other=_other(snapshot, corpus, given.get("other"), notices),
    )
    return Place(address, snapshot, corpus, tuple(notices), library.typed)


def _of_sentence(read: LinkReader, corpus: Corpus) -> dict[str, Any]:
    """The fields of the page of a sentence."""
    lengths = range(1, int(corpus.corpus_attributes["max_length"]) + 1)
    longest = int(corpus.attributes["config"].get("max_position_embeddings", len(lengths)))
    return {
        "sentence": read.number("sentence", range(corpus.n_sentences), 0),
        "text": read.typed("text"),
        "second": read.typed("second"),
        "show": read.choice("show", SHOWS, "head"),
        "heads": read.numbers("heads", range(corpus.heads)),
        "queries": read.numbers("queries", range(longest)),
        "toward": read.number("toward", range(longest), None),
        "weights": read.choice("weights", ("attention", "norm"), "attention"),
        "mean": read.choice("mean", MEANS, "none"),
        "ratio": read.choice("ratio", tuple(RATIOS), "attnresln_n"),
        "pair": read.choice("pair", PAIRS, "all"),
        "hide": read.numbers("hide", range(longest)),
        "special": read.choice("special", ("0",), None),
        "renormalize": read.choice("renormalize", ON, None),
        "words": read.choice("words", ON, None),
        "rollout": read.choice("rollout", ON, None),
        "find": read.text("find", MOST_SOUGHT),
        "labelled": read.choice("labelled", tuple(corpus.corpus_attributes.get("label_names", ())), None),
        "fewest": read.number("fewest", lengths, None),
        "most": read.number("most", lengths, None),
        "by": read.choice("by", RANKED, None),
    }


def _of_statistics(read: LinkReader) -> dict[str, Any]:
    """The fields of the pages of all heads' numbers."""
    names = tuple(STATISTICS)
    source = read.choice("source", SOURCES, "all")
    return {
        "statistic": _statistic(read, source),
        "source": source,
        "values": read.choice("values", VALUES, "value"),
        "against": read.choice("against", names, None),
        "sort": read.choice("sort", (*names, "importance", "head"), None),
        "named": read.text("named", 20),
        "behaviour": read.text("behaviour", 40),
        "paint": read.choice("paint", ("layer", "label", *telling("all")), "layer"),
    }


def _statistic(read: LinkReader, source: str) -> str:
    """One in which heads differ over these rows."""
    asked = str(read.choice("statistic", tuple(STATISTICS), "to_sep"))
    if asked in telling(source):
        return asked
    read.notices.append(
        f"All tokens together receive 1 in every head. Shown is {STATISTICS['to_sep'].title}; choose the rows of some tokens for what they receive."
    )
    return "to_sep"


def _page(pathname: str | None, notices: list[str]) -> str:
    name = (pathname or "/").strip("/")[:80] or "heads"
    if name in PAGES:
        return name
    notices.append(f"There is no page “{name}”. This is the page of all heads.")
    return "heads"


def _snapshot(library: Library, asked: str | None, notices: list[str]) -> Snapshot:
    if asked:
        try:
            return library.snapshot(asked[:80])
        except StoreError:
            notices.append(f"There is no snapshot “{asked[:80]}” any more. This is the newest.")
    return library.snapshot()


def _corpus(snapshot: Snapshot, asked: str | None, notices: list[str]) -> Corpus:
    if asked and asked not in snapshot.models:
        notices.append(f"There is no model “{asked[:80]}” in this store. This is the one ingested last.")
    return snapshot.corpus(asked if asked in snapshot.models else None)


def _other(snapshot: Snapshot, corpus: Corpus, asked: str | None, notices: list[str]) -> str | None:
    """Another model of as many layers and heads."""
    if asked is None or asked in comparable(snapshot, corpus):
        return asked
    notices.append(f"There is no other model “{asked[:80]}” with as many layers and heads. It is left out.")
    return None


def comparable(snapshot: Snapshot, corpus: Corpus) -> list[str]:
    """Keys of the other models of a snapshot that have as many layers and heads."""
    others = [snapshot.corpus(name) for name in snapshot.models if name != corpus.name]
    return [one.name for one in others if (one.layers, one.heads) == (corpus.layers, corpus.heads)]


def _view(corpus: Corpus, asked: str | None, notices: list[str]) -> str | None:
    """A view other than the default."""
    if asked and asked not in corpus.views:
        notices.append(
            f"There is no view “{asked[:80]}” of this model; make it with `make projections VIEWS=...`. This is the most faithful one."
        )
    return asked if asked in corpus.views[1:] else None
