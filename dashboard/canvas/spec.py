"""The Dash component of the canvas, and what it draws: the typed structure that a page sends as its prop `picture`.

Each picture is built by one function of its topic and sent as `Picture.json()`. The modules in assets/canvas/ read these
fields and no others (tests/test_spec.py). The browser fetches a part of a picture again only when its URL changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any
from urllib.parse import unquote

from dashboard.ui.files import provenance_of
from dashboard.ui.markup import BrowserComponent
from dashboard.ui.theme import PALETTE, Scheme
from dashboard.web.context import Context

#: Colours of the codes 0 to 255 by scheme, then by role.
Ramp = Mapping[str, Mapping[str, Sequence[str]]]
#: How a file names a search that is not for whole tokens.
MATCH = {"prefix": " as the beginning of a token", "phrase": " as a phrase", "lemma": " as a lemma"}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One square of points."""

    name: str
    #: One line about it, shown on hover after its name.
    summary: str = ""
    #: A word in its corner.
    tag: str = ""
    #: A number after its name, where it has its name above it.
    value: str = ""
    #: Fields of the link that opens it, where that is not a head.
    fields: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class RowHeading:
    """A line above the panels of a row, from a place of the grid to the next heading or the end of the row."""

    slot: int
    name: str


@dataclass(frozen=True, kw_only=True)
class Headings:
    """Names above the columns, joined by arrows from left to right, and above the panels of each row."""

    above: Sequence[str]
    rows: Sequence[RowHeading]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One of the pictures of the same tokens through which a reader moves."""

    name: str
    #: URL of its points.
    points: str
    #: What a screen reader says of it.
    label: str
    #: Fields of its link.
    fields: Mapping[str, str]
    #: Texts of the page that follow the points, by the name of their place.
    texts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ChosenPoint:
    """The clicked point."""

    token: int
    role: str


@dataclass(frozen=True, kw_only=True)
class SecondHead:
    """What the second of two heads has of its own."""

    #: As `Picture.focus`.
    focus: str | None
    #: As `Picture.region`.
    region: str


@dataclass(frozen=True, kw_only=True)
class LinkFields:
    """The fields of a link that hold the clicked token and the region, where they are not `token` and `lasso`."""

    token: str
    lasso: str


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """What a saved picture says beside the captions of the page, whose header and controls it leaves behind."""

    source: str
    stem: str
    notes: Sequence[str]

    @classmethod
    def of(cls, context: Context, selection: Mapping[str, str]) -> "FileSource":
        """Models, corpus and snapshot, and what `selection`, as in a link, selects."""
        origin = provenance_of(context)
        notes = [*_selection_note(selection), *_size_note(context)]
        return cls(source=origin["source"], stem=origin["stem"], notes=notes)


def _selection_note(selection: Mapping[str, str]) -> list[str]:
    search = f"“{selection['q']}”{MATCH.get(selection.get('within', ''), '')}" if "q" in selection else ""
    conditions = [unquote(condition) for condition in selection.get("where", "").split(";")]
    region = "a region" if selection.keys() & {"lasso", "flasso"} else ""
    isolated = f"{selection['fcolour']}:{selection['fonly']}" if "fonly" in selection else ""
    selectors = [part for part in (search, *conditions, isolated, region) if part]
    return [f"What stands out is selected by {', '.join(selectors)}."] if selectors else []


def _size_note(context: Context) -> list[str]:
    on_page = context.state.page in ("heads", "head")
    return ["The larger a point, the larger the norm of its vector."] if context.state.size and on_page else []


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Panels of points and what is drawn with them. None: the picture has no such part."""

    # What the panels are
    panels: Sequence[Panel]
    #: Panels in a row.
    columns: int
    #: What a screen reader says of the picture; the title of a saved one.
    label: str
    #: What the points of a token are: its query and key, or one of its own.
    roles: Sequence[str]
    #: 2 or 3.
    dimensions: int
    #: Layers and heads of the model, where the first panel is one of its heads.
    shape: tuple[int, int] | None = None
    #: The place of each panel in the grid, where that is not its own number; -1 for a panel that is left out.
    slots: Sequence[int] | None = None
    #: Whether the window decides how many panels stand in a row.
    flows: bool = False
    #: Whether each panel has its name above it.
    titled: bool = False
    #: Instead, where columns and rows have the names.
    headings: Headings | None = None
    #: Smallest side of a panel in pixels.
    min_side: int | None = None
    #: Pixels of a panel across below which the panels stand below each other.
    narrowest: int | None = None

    # What is drawn, by URL
    points: str
    #: The same points as an image, for a browser without WebGL2.
    raster: str
    #: A code for the colour of each point; without it points have the colours of their roles.
    colours: str | None = None
    ramp: Ramp | None = None
    #: Whether the shape of a key is an outline, so that a category keeps its colour.
    outlined: bool = False
    #: A bit for each point: whether it is selected.
    mask: str | None = None
    sizes: str | None = None
    #: Wordpieces of the tokens.
    labels: str | None = None
    #: Density contours of the points of each role, for each panel.
    contours: str | None = None
    #: Named clusters, for each panel.
    clusters: str | None = None
    #: Beginning of the URL of a point's hover card, up to the role; for two linked panels one for each.
    card: str | None = None
    cards: Sequence[str] | None = None

    # The clicked point and the region
    chosen: ChosenPoint | None = None
    #: Places and lines of the sentence of the clicked point.
    focus: str | None = None
    #: What these are, in words, for a saved picture.
    focus_caption: str | None = None
    #: Pairs of positions (query, key) in that sentence whose lines are marked.
    marks: Sequence[Sequence[int]] = ()
    #: The second of two heads, both of which can be worked with as a single one.
    second: SecondHead | None = None
    #: The selected region as in a link, and the beginning of those that belong to this picture.
    lasso: str | None = None
    region: str | None = None
    #: The camera of the link.
    at: str | None = None

    # Ways to other pictures
    sequence: Sequence[Step] | None = None
    #: The page to which a panel opens, if not to its head, and the fields that its link does without.
    page: str | None = None
    dropped_fields: Sequence[str] = ()
    link_fields: LinkFields | None = None

    # The page around it
    #: What the page adds below once the picture is painted; the same name is asked for once.
    after: str | None = None
    file: FileSource
    #: Colours by scheme.
    palette: Mapping[Scheme, Mapping[str, str]] = field(default_factory=lambda: PALETTE)

    def json(self) -> dict[str, Any]:
        """As the browser gets it: every field by its name."""
        return _plain(self)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


class PointPanels(BrowserComponent):
    """Square panels of points, row by row; one panel is the page of a head. One instance serves all pages.

    Parameters
    ----------
    id
        Dash id.
    picture
        What is drawn, `Picture` as JSON; None for nothing.
    noted
        Counts of notes: of panels by their names, of tokens by their numbers, and the beginning of the data URLs that they
        are for: `{"base": "/data/1/...", "panels": {"L3 H7": 2}, "tokens": {"17": 1}}`.
    opened
        Out: index of the panel a reader opened, with a counter: `{"panel": 43, "count": 1}`.
    left
        Out: a reader went back from a head to all of them: `{"panel": 43, "count": 1}`, -1 where it is not known.
    picked
        Out: a point was chosen, token -1 for none: `{"token": 5, "role": "key", "count": 1}`.
    painted
        Out: the picture is painted, and `after` may follow below it: `{"after": "...", "count": 1}`.
    step
        Out: the step of the sequence that is shown, or that the points move to: `{"panel": 7, "count": 1}`.
    arrived
        Out: the step at which a reader stopped: `{"panel": 7, "count": 1}`.
    lassoed
        Out: a region was drawn, "" for none: `{"lasso": "attention-exact-2d,3,7,0,0,100,100,...", "count": 1}`.
    """

    properties = ("id", "picture", "noted", "opened", "left", "picked", "lassoed", "step", "arrived", "painted")
