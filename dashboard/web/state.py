"""A link is a view: everything on screen, as a URL. What a URL means is found in `place.py`."""

from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from dashboard.points.focus import Lines
from dashboard.points.search import Within

PAGES = ("heads", "head", "statistics", "map", "features", "sentence", "compare", "about")
#: Tokens drawn on the page of one head, unless asked otherwise.
HEAD_TOKENS = 20_000
#: Lines of a query, and the weight from which on they are drawn: AttentionViz's.
TOP, LEAST = 2, 0.05


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
    ranked: str = "divergence"
    pictures: str = "head"
    sort: str | None = None
    named: str | None = None
    behaviour: str | None = None
    paint: str = "layer"
    material: str | None = None
    vectors: int | None = None
    fview: str | None = None
    point: str | None = None
    fcolour: str = "kind"
    ftoken: int | None = None
    flasso: str | None = None

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
