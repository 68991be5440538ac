"""The state of the dashboard in a link: one table of fields, which Python and the browser read.

This module does not know the store: `Of` names the bounds that depend on it, and `bounds.py` computes them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from typing import Annotated, Any, Literal, get_args, get_type_hints
from urllib.parse import urlencode

from dashboard.web.paths import first_page, links_of, page_links, root
from store import STATISTICS
from store.kernels.heads import LABELS
from store.kernels.relations import DIRECTIONS, MEASURES
from store.kernels.rules import roles_for
from store.reach import KINDS
from store.schema.corpus import ALL
from store.schema.model import RATIOS, ROLES, SOURCES, varying_statistics
from store.schema.pictures import METRICS

#: Fields that every page has. A link without a page that holds only these fields shows the first page.
OF_SNAPSHOT = frozenset({"model", "snapshot"})
#: Default and largest number of tokens drawn on the page of a head.
HEAD_TOKENS, MOST_TOKENS = 20_000, 1_000_000
#: Default and largest number of lines per token, and default minimum weight of a line (AttentionViz).
TOP, MOST_TOP, LEAST = 2, 20, 0.05
#: Name of the trial picture of feature points, beside the names of the store's pictures.
TRIAL = "trial"
#: Default and largest number of tokens of a trial, largest number of neighbours; UMAP's default parameters, as in an ingest.
TRIED, MOST_TRIED, MOST_NEIGHBORS = 1_000, 2_000, 200
NEIGHBORS, MIN_DIST = 15, 0.1
#: Largest seed that UMAP accepts; largest index of a review in a link, which does not know the number of reviews.
MOST_SEED, MOST_REVIEWS = (1 << 32) - 1, 100_000_000
#: Largest number of words of a sentence that can be marked on page Relations.
MOST_WORDS = 1_000
#: Most characters of a search, and of the condition on one word of a hypothesis.
MOST_SOUGHT, MOST_OF_END = 200, 80
#: Most characters of another sentence, whose attention heads take over or that resembles the shown one; most labels of a classifier.
MOST_PATCH, MOST_ANSWERS = 1_000, 1_000
#: Most bytes of a typed text in a link, and of both texts of a pair. With every position hidden or selected, a request for the
#: longest pair still fits into the request line that servers accept.
MOST_TYPED, MOST_OF_PAIR = 3_500, 4_000
#: Bytes beyond these limits at which the browser cuts a text: the server then still cuts it and says so.
BEYOND_TYPED, BEYOND_PAIR = 100, 200
Within = Literal["token", "prefix", "phrase", "lemma"]
Lines = Literal["point", "sentence"]
Mean = Literal["none", "heads", "layers", "both"]
Pair = Literal["all", "aa", "ab", "ba", "bb"]
#: Attention rollout; shares of origins by GlobEnc through the layers, and in one layer; by methods that run the model.
Rollout = Literal["1", "globenc", "layer", "alti", "value_zeroing", "decompx"]
Scale = Literal["same", "each"]
MatrixScale = Literal["root", "linear", "largest", "row", "log"]
Instead = Literal["off", "even", "mean", "rule", "patch"]
Unit = Literal["word", "wordpiece"]
HeadColour = Literal["role", "head"]
Reached = Literal["sentence", "cls", "word"]
WITHIN: tuple[Within, ...] = get_args(Within)
#: Kinds of match of a search that need annotated words.
OF_WORDS: tuple[Within, ...] = ("lemma",)
LINES: tuple[Lines, ...] = get_args(Lines)
MEANS: tuple[Mean, ...] = get_args(Mean)
PAIRS: tuple[Pair, ...] = get_args(Pair)
ROLLOUTS: tuple[Rollout, ...] = get_args(Rollout)
SCALES: tuple[Scale, ...] = get_args(Scale)
MATRIX_SCALES: tuple[MatrixScale, ...] = get_args(MatrixScale)
INSTEAD: tuple[Instead, ...] = get_args(Instead)
UNITS: tuple[Unit, ...] = get_args(Unit)
#: Relations between the two words of a hypothesis.
JOINED = ("depends", "governs", "same", "rest")
HEAD_COLOURS: tuple[HeadColour, ...] = get_args(HeadColour)
REACHED: tuple[Reached, ...] = get_args(Reached)
#: Most heads that can be changed at once.
MOST_CHANGED = 24
TABS = ("role", "statistics", "point", "selection", "pairs", "distance", "positions", "notes")
SHOWS = ("head", "model", "matrix", "neuron", "positions", "mixing")
#: Choices of the bias above which a head has a role.
THRESHOLDS = ("1.5", "2", "3")
#: Numbers of heads that can be compared: of roles and rules, statistics, and numbers that page Models counts on demand.
SCORES = (
    "layer",
    "explained",
    "iou",
    "context",
    *(f"share_{kind}" for kind in ("sinks", "position", "same_word", "words", "grammar", "even")),
    "importance",
    *varying_statistics("all"),
    "distance_variance",
    "induction",
)
#: Kinds of values in the heat map of all heads.
VALUES = ("value", "rank", "difference", "part", "rest")
#: Choice of the heads without a label, beside the labels.
UNLABELLED = "none"
#: Kinds of a note's target (`dashboard.notes.target.KINDS`), and most pages of the list of notes.
NOTED = ("head", "token", "sentence", "pair", "point", "view")
MOST_LEAVES = 100_000
#: Choice of the sentence most similar to the shown one as the other sentence.
NEAREST = "nearest"
#: Choice of the order of the corpus, instead of a statistic that ranks sentences.
ORDER = "order"
Kind = Literal["number", "share", "choice", "switch", "numbers", "text", "typed", "conditions", "pattern"]
#: Bounds of a field: a range of numbers, the words of a choice, the longest text in characters or bytes, the pattern of a text.
Bounds = range | tuple[str, ...] | int | str
_OF_TOKENS = ("queries", "toward", "hide", "window", "keywindow")
_OF_SENTENCE, _OF_PAIR = ("sentence", "marks", "around", *_OF_TOKENS), ("second", "pair")
#: An end of a marked pair: a position, or a word of letters.
_MARKED = r"(\d{1,4}|[^\W\d_]{1,40})"
_PAIRS = rf"{_MARKED}-{_MARKED}(\.{_MARKED}-{_MARKED}){{0,40}}"
_MARKS = r"\d{1,8}:\d{1,3}-\d{1,3}(\.\d{1,3}-\d{1,3}){0,20}"
_EXAMPLE = rf"{_MARKS}(;{_MARKS}){{0,20}}"
_MINIMUM = r"\d{1,5}(\.\d{1,3})?"
_END = r"-?\d{1,7}(\.\d{1,6})?"
#: Pattern of an interval such as `20..50`; either number may be missing.
_INTERVAL = rf"({_END})?\.\.({_END})?"
_CAMERA = r"-?[\d.]{1,9}(,-?[\d.]{1,9}){2,4}"
#: Pattern of a layer and a head, such as `3-7`.
HEAD = r"\d{1,3}-\d{1,3}"
_KINDS = r"(off|even|mean|rule)"
_CURVE = rf"{_KINDS}(\.{_KINDS}){{0,3}}"
_CHANGED = rf"{HEAD}(\.{HEAD}){{0,{MOST_CHANGED - 1}}}"


class Of(Enum):
    """Names of bounds that depend on the store."""

    MODELS = auto()
    LAYERS = auto()
    HEADS = auto()
    TOKENS = auto()
    VIEWS = auto()
    MATCHES = auto()
    SENTENCES = auto()
    COUNTED_SENTENCES = auto()
    PAIRS = auto()
    POSITIONS = auto()
    LENGTHS = auto()
    LABELS = auto()
    ROLES_OF_HEADS = auto()
    STATISTICS = auto()
    OTHER_MODELS = auto()
    TOKEN_SETS = auto()
    VALUE_LAYERS = auto()
    FEATURE_VIEWS = auto()
    FEATURE_PANELS = auto()
    FEATURE_COLUMNS = auto()
    FEATURE_TOKENS = auto()
    TRIAL_FITS = auto()


@dataclass(frozen=True)
class Field:
    """Permitted values of a field of the link, and effects of its change on other fields.

    Attributes
    ----------
    kind
        How `LinkReader` reads the field. A `switch` that is on holds its one word.
    bounds
        Permitted values; None for any number from 0 to 1.
    clears
        Fields that a change of this field clears.
    moves
        Whether a change shows another picture, so that the camera is cleared.
    brings
        A field that a reader's first value of this field switches on, and that is cleared when this field is emptied.
    ends
        Fields that are cleared when this field is emptied.
    """

    kind: Kind
    bounds: Bounds | Of | None = None
    clears: tuple[str, ...] = ()
    moves: bool = False
    brings: str | None = None
    ends: tuple[str, ...] = ()


def encode_fields(fields: Mapping[str, object]) -> str:
    """Fields as a query string, with readable separators of lists."""
    return urlencode(fields, safe=",:;|")


def head_numbers(text: str | None) -> tuple[int, int] | None:
    """Layer and head of `3-7`."""
    layer, _, head = (text or "").partition("-")
    return (int(layer), int(head)) if layer and head else None


def heads_numbers(text: str | None) -> list[tuple[int, int]]:
    """Layer and head of each of `2-8.3-1`."""
    each = map(head_numbers, (text or "").split("."))
    return [numbers for numbers in each if numbers is not None]


def _link(page: str, written: Mapping[str, object]) -> str:
    return f"{root()}/{page}" + (f"?{encode_fields(written)}" if written else "")


_ON = Field("switch", ("1",))


@dataclass(frozen=True)
class LinkState:
    """The state of the dashboard: every field of a link with its name, type, bounds and default.

    The link leaves out fields with default values.
    """

    page: str = field(default_factory=first_page)
    model: Annotated[str | None, Field("choice", Of.MODELS, moves=True)] = None
    snapshot: Annotated[str | None, Field("text", 80)] = None
    since: Annotated[str | None, Field("text", 80)] = None

    # The pictures of heads.
    layer: Annotated[int, Field("number", Of.LAYERS, moves=True)] = 0
    head: Annotated[int, Field("number", Of.HEADS, moves=True)] = 0
    pinned: Annotated[str | None, Field("pattern", HEAD, moves=True)] = None
    tokens: Annotated[int, Field("number", range(1, MOST_TOKENS + 1))] = HEAD_TOKENS
    view: Annotated[str | None, Field("choice", Of.VIEWS, moves=True)] = None
    colour: Annotated[str, Field("text", 80, clears=("only",))] = "role"
    only: Annotated[str | None, Field("text", 80)] = None
    size: Annotated[str | None, Field("switch", ("norm",))] = None
    labels: Annotated[str | None, _ON] = None
    contours: Annotated[str | None, _ON] = None
    clusters: Annotated[str | None, _ON] = None
    q: Annotated[str | None, Field("text", MOST_SOUGHT)] = None
    within: Annotated[Within, Field("choice", Of.MATCHES)] = "token"
    where: Annotated[str | None, Field("conditions", 2_000)] = None
    lasso: Annotated[str | None, Field("text", 1_500)] = None
    token: Annotated[int | None, Field("number", Of.TOKENS, clears=("marks",))] = None
    role: Annotated[str, Field("choice", ROLES)] = "query"
    top: Annotated[int, Field("number", range(1, MOST_TOP + 1))] = TOP
    least: Annotated[float, Field("share")] = LEAST
    lines: Annotated[Lines, Field("choice", LINES)] = "point"
    marks: Annotated[str | None, Field("pattern", _PAIRS)] = None
    tab: Annotated[str | None, Field("choice", TABS)] = None
    at: Annotated[str | None, Field("pattern", _CAMERA)] = None

    # The roles of a head.
    evidence: Annotated[str | None, Field("choice", Of.ROLES_OF_HEADS)] = None
    threshold: Annotated[str, Field("choice", THRESHOLDS)] = "2"
    wordpieces: Annotated[str | None, Field("pattern", HEAD)] = None
    replaced: Annotated[str | None, Field("pattern", HEAD)] = None

    # Which heads page Heads shows, in which order.
    arranged: Annotated[
        str | None, Field("choice", tuple(varying_statistics("all")), clears=("above",), moves=True)
    ] = None
    tagged: Annotated[str | None, Field("choice", (*LABELS, UNLABELLED), moves=True)] = None
    above: Annotated[str | None, Field("pattern", _MINIMUM, moves=True)] = None
    does: Annotated[str | None, Field("choice", tuple(roles_for(words=True)), moves=True)] = None

    # A sentence, of the corpus or typed.
    sentence: Annotated[int, Field("number", Of.SENTENCES, clears=("start", *_OF_TOKENS))] = 0
    text: Annotated[str | None, Field("typed", MOST_TYPED, clears=_OF_SENTENCE, brings="words", ends=_OF_PAIR)] = None
    second: Annotated[str | None, Field("typed", MOST_TYPED, clears=("marks", *_OF_TOKENS), ends=("pair",))] = None
    around: Annotated[str | None, _ON] = None
    show: Annotated[str, Field("choice", SHOWS)] = "head"
    heads: Annotated[str | None, Field("numbers", Of.HEADS)] = None
    headcolour: Annotated[HeadColour, Field("choice", HEAD_COLOURS)] = "role"
    queries: Annotated[str | None, Field("numbers", Of.POSITIONS)] = None
    toward: Annotated[int | None, Field("number", Of.POSITIONS)] = None
    window: Annotated[int | None, Field("number", Of.POSITIONS)] = None
    keywindow: Annotated[int | None, Field("number", Of.POSITIONS)] = None
    weights: Annotated[str, Field("choice", ("attention", "norm"))] = "attention"
    mean: Annotated[str, Field("choice", MEANS)] = "none"
    scale: Annotated[str, Field("choice", MATRIX_SCALES)] = "root"
    ratio: Annotated[str, Field("choice", tuple(RATIOS))] = "attnresln_n"
    pair: Annotated[str, Field("choice", Of.PAIRS, clears=("queries", "toward"))] = "all"
    hide: Annotated[str | None, Field("numbers", Of.POSITIONS, clears=("queries", "toward"))] = None
    special: Annotated[str | None, Field("switch", ("0",), clears=("queries", "toward"))] = None
    renormalize: Annotated[str | None, _ON] = None
    words: Annotated[str | None, Field("switch", ("1",), clears=_OF_TOKENS)] = None
    rollout: Annotated[Rollout | None, Field("choice", ROLLOUTS)] = None
    difference: Annotated[str | None, _ON] = None
    without: Annotated[str | None, Field("pattern", _CHANGED)] = None
    instead: Annotated[Instead, Field("choice", INSTEAD)] = "off"
    patch: Annotated[str | None, Field("text", MOST_PATCH)] = None
    sampled: Annotated[str | None, _ON] = None
    curve: Annotated[str | None, Field("pattern", _CURVE)] = None
    pooled: Annotated[str | None, Field("choice", ("text", "share"))] = None
    answer: Annotated[int | None, Field("number", range(MOST_ANSWERS))] = None
    alike: Annotated[str | None, Field("text", MOST_PATCH)] = None
    find: Annotated[str | None, Field("text", MOST_SOUGHT)] = None
    labelled: Annotated[str | None, Field("choice", Of.LABELS)] = None
    fewest: Annotated[int | None, Field("number", Of.LENGTHS)] = None
    most: Annotated[int | None, Field("number", Of.LENGTHS)] = None
    by: Annotated[str | None, Field("choice", (ORDER, *varying_statistics("all")))] = None
    first: Annotated[str, Field("choice", ("largest", "smallest"))] = "largest"

    # Numbers of all heads, of one model or two.
    statistic: Annotated[str | None, Field("choice", Of.STATISTICS)] = None
    source: Annotated[str, Field("choice", SOURCES)] = "all"
    values: Annotated[str, Field("choice", VALUES)] = "value"
    against: Annotated[str | None, Field("choice", tuple(STATISTICS))] = None
    across: Annotated[str | None, Field("choice", SCORES, clears=("acrossin",))] = None
    up: Annotated[str | None, Field("choice", SCORES, clears=("upin",))] = None
    acrossin: Annotated[str | None, Field("pattern", _INTERVAL)] = None
    upin: Annotated[str | None, Field("pattern", _INTERVAL)] = None
    tint: Annotated[str, Field("choice", ("role", *SCORES))] = "role"
    sized: Annotated[str | None, Field("choice", SCORES)] = None
    other: Annotated[str | None, Field("choice", Of.OTHER_MODELS)] = None
    ranked: Annotated[str, Field("choice", ("divergence", "statistic"))] = "divergence"
    pictures: Annotated[str, Field("choice", ("head", "point"))] = "head"
    sort: Annotated[str | None, Field("choice", (*STATISTICS, "importance", "head"))] = None
    named: Annotated[str | None, Field("text", 20)] = None
    behaviour: Annotated[str | None, Field("text", 40)] = None
    paint: Annotated[str, Field("choice", ("layer", "role", "label", *varying_statistics("all")))] = "layer"

    # What vectors are made of.
    reached: Annotated[Reached, Field("choice", REACHED)] = "sentence"
    reachedby: Annotated[str, Field("choice", tuple(KINDS), clears=("reachedclass",))] = "wordpiece"
    after: Annotated[int | None, Field("number", Of.LAYERS)] = None
    reachedclass: Annotated[str | None, Field("text", 80)] = None

    # Relations between words.
    relation: Annotated[str, Field("text", 80)] = ALL
    direction: Annotated[str, Field("choice", tuple(DIRECTIONS))] = "forward"
    examples: Annotated[str, Field("choice", ("best", "chosen"))] = "best"
    start: Annotated[int | None, Field("number", range(MOST_WORDS))] = None
    example: Annotated[str | None, Field("pattern", _EXAMPLE)] = None

    # A reader's own hypothesis.
    hquery: Annotated[str | None, Field("text", MOST_OF_END)] = None
    hkey: Annotated[str | None, Field("text", MOST_OF_END)] = None
    hoffset: Annotated[str | None, Field("text", 20)] = None
    hjoined: Annotated[str | None, Field("choice", JOINED)] = None
    hlabel: Annotated[str | None, Field("text", 40)] = None
    hunit: Annotated[Unit, Field("choice", UNITS)] = "word"
    hsort: Annotated[str, Field("choice", tuple(MEASURES))] = "bias"

    # Page Notes: which notes it lists.
    containing: Annotated[str | None, Field("text", MOST_SOUGHT, clears=("leaf",))] = None
    tag: Annotated[str | None, Field("text", 40, clears=("leaf",))] = None
    author: Annotated[str | None, Field("text", 200, clears=("leaf",))] = None
    about: Annotated[str | None, Field("choice", NOTED, clears=("leaf",))] = None
    checkpoint: Annotated[str | None, Field("pattern", r"[0-9a-f]{64}", clears=("leaf",))] = None
    leaf: Annotated[int, Field("number", range(MOST_LEAVES))] = 0

    # Feature points.
    material: Annotated[
        str | None, Field("choice", Of.TOKEN_SETS, clears=("review", "ftoken", "flasso", "fonly"), moves=True)
    ] = None
    review: Annotated[
        int | None, Field("number", range(MOST_REVIEWS), clears=("material", "ftoken", "flasso", "fonly"), moves=True)
    ] = None
    seek: Annotated[str | None, Field("text", MOST_SOUGHT)] = None
    vectors: Annotated[int | None, Field("choice", Of.VALUE_LAYERS, clears=("fview", "point"), moves=True)] = None
    fview: Annotated[str | None, Field("choice", Of.FEATURE_VIEWS, moves=True)] = None
    point: Annotated[str | None, Field("choice", Of.FEATURE_PANELS, moves=True)] = None
    fscale: Annotated[Scale, Field("choice", SCALES, moves=True)] = "same"
    fcolour: Annotated[str, Field("choice", Of.FEATURE_COLUMNS, clears=("fonly",))] = "kind"
    fonly: Annotated[str | None, Field("text", 80)] = None
    ftoken: Annotated[int | None, Field("number", Of.FEATURE_TOKENS)] = None
    flasso: Annotated[str | None, Field("text", 1_500)] = None
    trial: Annotated[int, Field("number", range(10, MOST_TRIED + 1))] = TRIED
    fit: Annotated[str | None, Field("choice", Of.TRIAL_FITS)] = None
    neighbors: Annotated[int, Field("number", range(2, MOST_NEIGHBORS + 1))] = NEIGHBORS
    mindist: Annotated[float, Field("share")] = MIN_DIST
    metric: Annotated[str, Field("choice", METRICS)] = METRICS[0]
    seed: Annotated[int | None, Field("number", range(MOST_SEED + 1))] = None

    @property
    def href(self) -> str:
        """The link that restores this state."""
        # A page has hundreds of links, so this loop is written out.
        values, always = vars(self), links_of(self.page).always
        written = {
            name: value
            for name, default in _WRITTEN
            if (value := values[name]) is not None and (value != default or name in always)
        }
        first = self.page == first_page() and written.keys() <= OF_SNAPSHOT
        return _link("" if first else self.page, written)

    @property
    def bare_href(self) -> str:
        """The link to the page with the model and the snapshot alone."""
        return _link(self.page, {name: value for name, value in self.fields.items() if name in OF_SNAPSHOT and value})

    @property
    def chosen(self) -> frozenset[str]:
        """Fields without default values, except model and snapshot."""
        return frozenset(name for name, value in self.fields.items() if value != DEFAULTS[name]) - OF_SNAPSHOT

    @property
    def second_head(self) -> tuple[int, int] | None:
        """Layer and head of the pinned head; None where it is the link's own head or none is pinned."""
        pinned = head_numbers(self.pinned)
        return None if pinned == (self.layer, self.head) else pinned

    @property
    def shown_heads(self) -> list[tuple[int, int]]:
        """Layer and head of the link's head, and of the pinned head where it is another."""
        return [(self.layer, self.head), *([self.second_head] if self.second_head else [])]

    @property
    def fields(self) -> dict[str, Any]:
        """The value of every field of the link by its name."""
        values = vars(self)
        return {name: values[name] for name in FIELDS}

    def on(self, page: str) -> "LinkState":
        """The state on another page, without the camera, and without marked pairs where the page marks other items."""
        of_pages = {links_of(each).marked for each in (self.page, page)}
        marks = None if len(of_pages) > 1 and "sentence" in of_pages else self.marks
        return replace(self, page=page, at=None, marks=marks)

    def of_sentence(self, sentence: int, **changes: object) -> "LinkState":
        """The page of another sentence of the corpus, without the tokens selected in the sentence before.

        Tokens are selected by their positions, which count every wordpiece.
        """
        plain = ("words", "special", "rollout") if "queries" in changes else ()
        nothing = dict.fromkeys(("text", "second", "marks", *_OF_TOKENS, *plain))
        return self.on("sentence").with_(sentence=sentence, pair="all", **(nothing | changes))

    def with_(self, **changes: object) -> "LinkState":
        """The state with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


def _table() -> dict[str, Field]:
    hints = get_type_hints(LinkState, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}


#: Every field of a link by its name.
FIELDS: Mapping[str, Field] = _table()
#: Default of a field that the link does not hold; None where the store decides.
DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(LinkState) if field.name in FIELDS}
_WRITTEN = tuple(DEFAULTS.items())


def browser_table(prefix: str = "") -> dict[str, Any]:
    """The table for the browser, ready for JSON: the browser makes links itself, under the server's prefix."""
    each = {name: _in_browser(name, field) for name, field in FIELDS.items()}
    longest = {"longest": MOST_TYPED + BEYOND_TYPED, "longestPair": MOST_OF_PAIR + BEYOND_PAIR}
    return {"fields": each, "root": prefix} | longest


def _in_browser(name: str, field: Field) -> dict[str, Any]:
    """Properties of a field for the browser; properties that are None or empty are left out."""
    on = field.bounds[0] if field.kind == "switch" and isinstance(field.bounds, tuple) else None
    always = [page for page, links in page_links().items() if name in links.always]
    each = {"default": DEFAULTS[name], "on": on, "always": always, "brings": field.brings, "ends": [*field.ends]}
    each["clears"] = [*field.clears, *(["at"] if field.moves else [])]
    return {part: value for part, value in each.items() if value not in (None, [])}
