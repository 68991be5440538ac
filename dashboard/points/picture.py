"""The picture of all heads, or of one and the pinned one beside it: its points, and what the canvas draws (URLs, texts of panels and lines).

The pinned head has the same tokens, colours, sizes and selection as that of the link.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import urlencode

import numpy as np
import xarray as xr
from dash import dcc, html
from dash.development.base_component import Component
from numpy.typing import NDArray

from dashboard.canvas.spec import ChosenPoint, FileSource, Panel, Picture, SecondHead
from dashboard.points.arrangement import arrangement, value_text
from dashboard.points.colours import Legend, legend
from dashboard.points.columns import Column, columns
from dashboard.points.drawn import Drawn
from dashboard.points.search import Hits, hits
from dashboard.points.selection import FIELDS, Condition, Selection, mask, parse_selection
from dashboard.ui.text import decimal, with_unit
from dashboard.ui.theme import ramp
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.state import UNLABELLED, LinkState, encode_fields
from store import STATISTICS, Corpus
from store.schema.model import ROLES, head_name
from store.schema.pictures import ViewName

#: Sentences that the results of a search list.
LISTED = 50
#: Tokens whose wordpieces the browser gets for its labels.
LABELLED = 50_000
#: Shares of which the grid names the three largest of a head on hover.
SHARES = ("to_cls", "to_sep", "to_punctuation", "to_previous", "to_next", "to_self")
#: Keys from anywhere in the corpus that are shown for a point.
NEAR = 10
#: Pixels of a panel below which a head and the pinned one stand below each other.
NARROWEST = 260
PINNED_IS_SHOWN = "Pinned. Open another head to see both."


@dataclass(frozen=True)
class ShownPoints:
    """The selection and the colour of a picture; `filters` are the conditions of the selection without the isolated category."""

    drawn: Drawn
    selection: Selection
    colour: Column
    notices: tuple[str, ...]
    filters: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, context: Context, tokens: int, *, layer: int | None = None, head: int | None = None) -> "ShownPoints":
        """Those of a link, of one head or of all."""
        state, known = context.state, columns(context.corpus)
        fields = {name: state.fields[name] or "" for name in FIELDS}
        selection, notices = parse_selection(fields, context.corpus)
        if state.colour not in known:
            notices += (f"Ignored an invalid parameter: colour={state.colour}. Points are coloured by query and key.",)
        colour = known.get(state.colour, known["role"])
        filters = selection.where
        if state.only is not None and colour.code(state.only) is None:
            notices += (f"Ignored an invalid parameter: only={state.only}. Click an entry of the legend.",)
        elif state.only is not None:
            selection = replace(selection, where=(*filters, Condition(colour.name, (state.only,))))
        return cls(Drawn(context.corpus, tokens, layer, head), selection, colour, notices, filters)

    @property
    def query(self) -> str:
        """The selection as the end of a URL; empty where nothing is selected."""
        return f"&{encode_fields(self.selection.fields)}" if self.selection else ""

    @property
    def coloured(self) -> bool:
        """Whether points are coloured by a column."""
        return self.colour.name != "role"

    @cached_property
    def legend(self) -> Legend:
        """The legend of the colours."""
        return legend(self.colour, self.drawn)

    @cached_property
    def count(self) -> tuple[int, int]:
        """Selected and drawn points; in a picture of all heads, of one head on average."""
        return round(int(self.selected.sum()) / len(self.selected)), 2 * len(self.drawn.rows)

    @cached_property
    def selected(self) -> NDArray[np.bool_]:
        """Which of the drawn points are selected: (panel, token, role)."""
        return mask(self.drawn, self.selection)

    @cached_property
    def hits(self) -> Hits | None:
        """The matches of the search in the whole corpus, and the first sentences; None without a search."""
        selection = self.selection
        return hits(self.drawn.corpus, selection.q, selection.within, limit=LISTED) if selection.q else None


def grid_picture(context: Context, points: ShownPoints) -> Picture | None:
    """The picture of all heads, or of those that the link shows; None where it shows none."""
    corpus, state = context.corpus, context.state
    shown = arrangement(corpus, state)
    if not shown.heads:
        return None
    panels = head_panels(corpus, context.view)
    if shown.values is not None:
        panels = [
            replace(panel, value=value_text(state, value)) for panel, value in zip(panels, shown.values, strict=True)
        ]
    picture = _picture(context, points, "grid", panels=panels, columns=corpus.heads, label=grid_label(corpus, state))
    if not shown.packed:
        return picture
    raster = f"{picture.raster}&heads={'.'.join(map(str, shown.heads))}"
    return replace(picture, slots=shown.slots, titled=True, flows=True, raster=raster)


def grid_label(corpus: Corpus, state: LinkState) -> str:
    """What the picture of all heads shows, in words."""
    label = f"Queries and keys of {corpus.layers} by {corpus.heads} heads"
    if state.tagged:
        label += f", those labelled {state.tagged}" if state.tagged != UNLABELLED else ", those without a label"
    if state.arranged:
        statistic = STATISTICS[state.arranged]
        label += f", by {statistic.title}"
        label += f" (at least {with_unit(str(state.above), statistic.unit)})" if state.above else ""
    return label


def head_picture(context: Context, points: ShownPoints) -> Picture:
    """The picture of one head, with the clicked point."""
    state = context.state
    base, where = data_link(context.corpus), f"{state.layer}/{state.head}"
    name = head_name(state.layer, state.head)
    labelled = min(points.drawn.tokens, LABELLED)
    plane = f"{context.view}/{where}.json?tokens={points.drawn.tokens}" if is_plane(context) else None
    label = f"Queries and keys of {name}"
    picture = _picture(context, points, where, panels=[Panel(name=name)], columns=1, label=label)
    return replace(
        picture,
        file=replace(picture.file, notes=[*picture.file.notes, *(density_notes(state) if plane else [])]),
        shape=(context.corpus.layers, context.corpus.heads),
        labels=f"{base}/tokens.json?tokens={labelled}" if state.labels else None,
        contours=f"{base}/contours/{plane}" if state.contours and plane else None,
        clusters=f"{base}/clusters/{plane}" if state.clusters and plane else None,
        card=f"{base}/token/{where}/",
        chosen=None if state.token is None else ChosenPoint(token=state.token, role=state.role),
        focus=focus_url(context, state.layer, state.head),
        focus_caption=focus_caption(context),
        marks=marks(state.marks),
        lasso=state.lasso,
        region=head_region(context, state.layer, state.head),
    )


def density_notes(state: LinkState) -> list[str]:
    """What the contours and the names of clusters in a saved picture are."""
    return [
        *(
            ["Contours: smallest regions with 25, 50 and 75% of the queries, and of the keys."]
            if state.contours
            else []
        ),
        *(["Clusters are named by what they have most of against the rest."] if state.clusters else []),
    ]


def is_plane(context: Context) -> bool:
    """Whether the shown view has two dimensions: densities are of these alone."""
    return ViewName.parse(context.view).components == 2


def _picture(
    context: Context, points: ShownPoints, where: str, *, panels: list[Panel], columns: int, label: str
) -> Picture:
    state, base, tokens = context.state, data_link(context.corpus), points.drawn.tokens
    mask = f"{base}/mask/{where}.bin?tokens={tokens}{points.query}" if points.selection else None
    colours = f"{base}/colours/{points.colour.name}/{where}.bin?tokens={tokens}" if points.coloured else None
    return Picture(
        panels=panels,
        columns=columns,
        label=label,
        roles=ROLES,
        dimensions=ViewName.parse(context.view).components,
        points=f"{base}/points/{context.view}/{where}.bin?tokens={tokens}",
        raster=f"{base}/raster/{context.view}/{where}.png?tokens={tokens}",
        colours=colours,
        ramp=ramp(points.colour.kind) if colours else None,
        outlined=bool(colours) and points.colour.kind == "category",
        mask=mask,
        sizes=f"{base}/colours/norm/{where}.bin?tokens={tokens}" if state.size else None,
        at=state.at,
        file=FileSource.of(context, points.selection.fields),
    )


def head_region(context: Context, layer: int, head: int) -> str:
    """How a region drawn in the picture of a head begins in a link."""
    return f"{context.view},{layer},{head}"


def focus_url(context: Context, layer: int, head: int) -> str | None:
    """URL of the clicked point's overlay in a head: its sentence, lines and highest-scoring keys."""
    state = context.state
    if state.token is None:
        return _typed_focus_url(context, layer, head) if state.text else None
    where = f"{context.view}/{layer}/{head}/{state.role}/{state.token}"
    query = f"top={state.top}&least={state.least:g}&lines={state.lines}&near={NEAR}"
    return f"{data_link(context.corpus)}/focus/{where}.json?{query}"


def _typed_focus_url(context: Context, layer: int, head: int) -> str:
    """URL of a typed sentence's overlay, and of its lines."""
    state = context.state
    typed = {"text": state.text, "second": state.second or "", "top": state.top, "least": f"{state.least:g}"}
    return f"{data_link(context.corpus)}/typed/focus/{context.view}/{layer}/{head}.json?{urlencode(typed)}"


def marks(text: str | None) -> list[list[int]]:
    """Pairs of positions, query and key, from `4-9.4-10`."""
    return [[int(position) for position in pair.split("-")] for pair in (text or "").split(".") if pair]


def head_panels(corpus: Corpus, view: str) -> list[Panel]:
    """A panel for every head, with its label, and a line of statistics that the grid shows on hover."""
    labels = corpus.head_labels.values
    shares = corpus.head_statistic.sel(source="all", statistic=list(SHARES)).values
    entropy = corpus.head_statistic.sel(source="all", statistic="entropy").values
    fidelity = shown_fidelity(corpus.view(view)).sel(measure=["spearman", "recall"]).values
    return [
        Panel(
            name=head_name(layer, head),
            tag=str(labels[layer, head]),
            summary=_panel_line(shares[:, layer, head], entropy[layer, head], fidelity[:, layer, head]),
        )
        for layer in range(corpus.layers)
        for head in range(corpus.heads)
    ]


def shown_fidelity(opened: xr.Dataset) -> xr.DataArray:
    """Fidelity (measure, layer, head) on held-out sentences; on the fitted ones where the corpus has no others."""
    held_out = opened.fidelity.sel(judged="held_out")
    any_held_out = bool(held_out.sel(measure="spearman").notnull().any())
    return held_out if any_held_out else opened.fidelity.sel(judged="fitted")


def _panel_line(shares: NDArray[np.float64], entropy: float, fidelity: NDArray[np.float64]) -> str:
    largest = np.argsort(-shares)[:3]
    most = ", ".join(
        f"{STATISTICS[SHARES[index]].title.removeprefix('attention ')} {100 * shares[index]:.0f}%" for index in largest
    )
    return f"attends {most}; entropy {entropy:.2f} nats; picture: Spearman {decimal(fidelity[0])}, recall@3 {fidelity[1]:.2f}"


def focus_caption(context: Context) -> str | None:
    """What is drawn over the points, in words, for a saved picture; None without a clicked point or a typed sentence."""
    state = context.state
    if state.token is not None:
        return _of_point(context, state.token)
    if state.text is None:
        return None
    second = f" and “{state.second}”" if state.second else ""
    lines = _lines("every query", state.top, state.least)
    return f"Large: the queries and keys of “{state.text}”{second}; {lines}."


def _of_point(context: Context, token: int) -> str:
    corpus, role = context.corpus, context.state.role
    row = corpus.rows[token]
    position, sentence = (int(corpus.tokens[name].values[row]) for name in ("position", "sentence_index"))
    (piece,) = corpus.wordpieces(corpus.rows[[token]])
    of = "every query" if context.state.lines == "sentence" else "the point"
    other = "keys" if role == ROLES[0] else "queries"
    return (
        f"Ringed: the {role} of “{piece}”, position {position} of sentence {sentence:,}. Large: the queries and keys of its sentence; "
        f"{_lines(of, context.state.top, context.state.least)}; dashed lines: the "
        f"highest-scoring {other} in the corpus."
    )


def _lines(of: str, top: int, least: float) -> str:
    return f"lines: the {top} largest weights of {of}, at least {least:g}"


def picture_with_pinned(context: Context, points: ShownPoints) -> Picture:
    """The picture of the link's head, with the pinned one beside it."""
    picture, second = head_picture(context, points), context.state.second_head
    return _with_second(context, picture, *second) if second else picture


def _with_second(context: Context, picture: Picture, layer: int, head: int) -> Picture:
    name, pinned = head_name(layer, head), f"&pinned={layer}-{head}"
    return replace(
        picture,
        panels=[*picture.panels, Panel(name=name, value="pinned")],
        columns=2,
        titled=True,
        narrowest=NARROWEST,
        label=f"{picture.label} and of {name}",
        points=picture.points + pinned,
        raster=picture.raster + pinned,
        colours=picture.colours and picture.colours + pinned,
        contours=picture.contours and picture.contours + pinned,
        clusters=picture.clusters and picture.clusters + pinned,
        sizes=picture.sizes and picture.sizes + pinned,
        card=None,
        cards=[str(picture.card), f"{data_link(context.corpus)}/token/{layer}/{head}/"],
        second=SecondHead(focus=focus_url(context, layer, head), region=head_region(context, layer, head)),
    )


def pin_links(context: Context) -> html.Div:
    """Links that pin the head, exchange it with the pinned one, or leave that out."""
    state = context.state
    if state.pinned is None:
        return html.Div(_pin_link("Pin this head", f"{state.layer}-{state.head}", context), className="pin")
    second = state.second_head
    said = _of_second(context, *second) if second else [html.Span(PINNED_IS_SHOWN, className="caption")]
    return html.Div([*said, _pin_link("Unpin", None, context)], className="pin")


def _of_second(context: Context, layer: int, head: int) -> list[Component]:
    """Which head is pinned, and the way to exchange both."""
    state = context.state
    swapped = state.with_(layer=layer, head=head, pinned=f"{state.layer}-{state.head}", at=None)
    return [
        html.Span(f"{head_name(layer, head)} pinned", className="caption"),
        dcc.Link("Swap", href=swapped.href, className="act", title=f"{head_name(layer, head)} becomes the head shown"),
    ]


def _pin_link(text: str, pinned: str | None, context: Context) -> dcc.Link:
    title = "Keep this head beside the next ones" if pinned else "Show one head"
    return dcc.Link(text, href=context.state.with_(pinned=pinned, at=None).href, className="act", title=title)


def pinned_name(context: Context) -> str:
    """` and L3 H7` where a second head is shown, else nothing."""
    second = context.state.second_head
    return f" and {head_name(*second)}" if second else ""
