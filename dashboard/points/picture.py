"""The picture of all heads, or of one head and the pinned head beside it: its points, and what the canvas draws.

The canvas draws from URLs and from texts of panels and lines. The heads stand layer by layer or sorted by a statistic; a label or a
role can filter them (`Arrangement`). The pinned head has the tokens, colours, sizes and selection of the link's head.
"""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import xarray as xr
from dash import dcc, html
from dash.development.base_component import Component
from numpy.typing import NDArray

from dashboard.canvas.spec import ChosenPoint, FileSource, Panel, Picture, SecondHead
from dashboard.points.arrangement import arrangement, value_text
from dashboard.points.shown import Shown, ShownPoints
from dashboard.roles.shares import known_shares
from dashboard.ui.text import decimal, with_unit
from dashboard.ui.theme import ramp
from dashboard.web.http import data_link
from dashboard.web.state import UNLABELLED, LinkState
from store import STATISTICS, Corpus
from store.kernels.rules import RULES
from store.schema.model import ROLES, head_name
from store.schema.pictures import ViewName

#: Number of tokens whose wordpieces the browser gets for its labels.
LABELLED = 50_000
#: Shares of attention: on hover, the grid names the three largest of a head.
SHARES = ("to_cls", "to_sep", "to_punctuation", "to_previous", "to_next", "to_self")
#: Number of the corpus' highest-scoring keys that are shown for a query, or queries for a key.
NEAR = 10
#: Width of a panel in pixels below which the pinned head stands below the other head.
NARROWEST = 260
PINNED_IS_SHOWN = "Pinned. Open another head to see both."


def grid_picture(shown: ShownPoints) -> Picture | None:
    """The picture of the heads that the link shows; None where it shows no head."""
    corpus, state = shown.corpus, shown.state
    heads = arrangement(corpus, state)
    if not heads.heads:
        return None
    panels = head_panels(corpus, shown.view)
    if heads.values is not None:
        panels = [
            replace(panel, value=value_text(state, value)) for panel, value in zip(panels, heads.values, strict=True)
        ]
    picture = _picture(shown, "grid", panels=panels, columns=corpus.heads, label=grid_label(corpus, state))
    if not heads.packed:
        return picture
    raster = f"{picture.raster}&heads={'.'.join(map(str, heads.heads))}"
    return replace(picture, slots=heads.slots, titled=True, flows=True, raster=raster)


def grid_label(corpus: Corpus, state: LinkState) -> str:
    """A sentence part on what the picture of all heads shows: number of heads, role, label and sorting."""
    label = f"Queries and keys of {corpus.layers} by {corpus.heads} heads"
    if state.does:
        label += f", those with the role: {RULES[state.does].title}"
    if state.tagged:
        label += f", those labelled {state.tagged}" if state.tagged != UNLABELLED else ", those without a label"
    if state.arranged:
        statistic = STATISTICS[state.arranged]
        label += f", by {statistic.title}"
        label += f" (at least {with_unit(str(state.above), statistic.unit)})" if state.above else ""
    return label


def head_picture(shown: ShownPoints) -> Picture:
    """The picture of one head, with the clicked point."""
    state = shown.state
    base, where = data_link(shown.corpus), f"{state.layer}/{state.head}"
    name = head_name(state.layer, state.head)
    labelled = min(shown.tokens, LABELLED)
    plane = f"{shown.view}/{where}.json?tokens={shown.tokens}" if is_plane(shown.view) else None
    label = f"Queries and keys of {name}"
    picture = _picture(shown, where, panels=[Panel(name=name)], columns=1, label=label)
    return replace(
        picture,
        file=replace(picture.file, notes=[*picture.file.notes, *(density_notes(state) if plane else [])]),
        shape=(shown.corpus.layers, shown.corpus.heads),
        labels=f"{base}/tokens.json?tokens={labelled}" if state.labels else None,
        contours=f"{base}/contours/{plane}" if state.contours and plane else None,
        clusters=f"{base}/clusters/{plane}" if state.clusters and plane else None,
        card=f"{base}/token/{where}/",
        chosen=None if state.token is None else ChosenPoint(token=state.token, role=state.role),
        focus=focus_url(shown, state.layer, state.head),
        focus_caption=focus_caption(shown),
        marks=marks(state.marks),
        lasso=state.lasso,
        region=head_region(shown.view, state.layer, state.head),
    )


def density_notes(state: LinkState) -> list[str]:
    """Sentences for a saved picture that explain contours and names of clusters."""
    return [
        *(
            ["Contours: smallest regions with 25, 50 and 75% of the queries, and of the keys."]
            if state.contours
            else []
        ),
        *(["Clusters are named by what they have most of against the rest."] if state.clusters else []),
    ]


def is_plane(view: str) -> bool:
    """Whether a view has two dimensions: only 2D pictures have densities."""
    return ViewName.parse(view).components == 2


@dataclass(frozen=True)
class Sources:
    """URLs of a picture: the points as bytes and as an image, their colours, and the mask of selected points."""

    points: str
    raster: str
    colours: str | None
    mask: str | None


def sources_of_heads(shown: ShownPoints, base: str, where: str) -> Sources:
    """URLs of queries and keys below a base; `where` is the path of the heads: `grid` or `layer/head`."""
    place, tokens = f"{shown.view}/{where}", f"tokens={shown.tokens}"
    return Sources(
        points=f"{base}/points/{place}.bin?{tokens}",
        raster=f"{base}/raster/{place}.png?{tokens}",
        colours=f"{base}/colours/{shown.colour.name}/{where}.bin?{tokens}" if shown.coloured else None,
        mask=f"{base}/mask/{where}.bin?{tokens}{shown.query}" if shown.selection else None,
    )


def point_picture(
    shown: Shown[Any], sources: Sources, *, panels: list[Panel], columns: int, label: str, sized: bool = False
) -> Picture:
    """The picture of any set of points; `sized` says whether norms size the points."""
    roles, kind = shown.points.roles, shown.colour.kind
    return Picture(
        panels=panels,
        columns=columns,
        label=label,
        roles=roles,
        dimensions=shown.components,
        points=sources.points,
        raster=sources.raster,
        colours=sources.colours,
        ramp=ramp(kind, roles) if sources.colours else None,
        outlined=bool(sources.colours) and kind == "category" and len(roles) > 1,
        mask=sources.mask,
        at=shown.state.at,
        file=FileSource.of(shown.origin, shown.selection.fields, sized=sized),
    )


def _picture(shown: ShownPoints, where: str, *, panels: list[Panel], columns: int, label: str) -> Picture:
    base, sized = data_link(shown.corpus), bool(shown.state.size)
    sources = sources_of_heads(shown, base, where)
    picture = point_picture(shown, sources, panels=panels, columns=columns, label=label, sized=sized)
    return replace(picture, sizes=f"{base}/colours/norm/{where}.bin?tokens={shown.tokens}" if sized else None)


def head_region(view: str, layer: int, head: int) -> str:
    """The beginning of a lasso in a link: the view and the head in whose picture it is drawn."""
    return f"{view},{layer},{head}"


def focus_url(shown: ShownPoints, layer: int, head: int) -> str | None:
    """URL of the overlay of the clicked point or typed sentence in a head; None without either."""
    state = shown.state
    if state.token is None:
        return _typed_focus_url(shown, layer, head) if state.text else None
    where = f"{shown.view}/{layer}/{head}/{state.role}/{state.token}"
    query = f"top={state.top}&least={state.least:g}&lines={state.lines}&near={NEAR}"
    return f"{data_link(shown.corpus)}/focus/{where}.json?{query}"


def _typed_focus_url(shown: ShownPoints, layer: int, head: int) -> str:
    """URL of the overlay of a typed sentence: its points and lines."""
    state = shown.state
    typed = {"text": state.text, "second": state.second or "", "top": state.top, "least": f"{state.least:g}"}
    return f"{data_link(shown.corpus)}/typed/focus/{shown.view}/{layer}/{head}.json?{urlencode(typed)}"


def marks(text: str | None) -> list[list[int]]:
    """Positions of query and key of each pair in `4-9.4-10`; pairs of words are left out: only page Sentence reads them."""
    return [[int(end) for end in pair] for pair in marked_ends(text) if all(map(str.isdecimal, pair))]


def marked_ends(text: str | None) -> list[list[str]]:
    """The two ends of each marked pair, as the link spells them."""
    return [pair.split("-") for pair in (text or "").split(".") if pair]


def head_panels(corpus: Corpus, view: str) -> list[Panel]:
    """A panel for every head: its clearest role or its label, and the line that the grid shows on hover."""
    names = _names_of_heads(corpus)
    shares = corpus.head_statistic.sel(source="all", statistic=list(SHARES)).values
    entropy = corpus.head_statistic.sel(source="all", statistic="entropy").values
    fidelity = shown_fidelity(corpus.view(view)).sel(measure=["spearman", "recall"]).values
    return [
        Panel(
            name=head_name(layer, head),
            tag=tag,
            summary=_panel_line(title, shares[:, layer, head], entropy[layer, head], fidelity[:, layer, head]),
        )
        for layer, row in enumerate(names)
        for head, (tag, title) in enumerate(row)
    ]


def _names_of_heads(corpus: Corpus) -> list[list[tuple[str, str]]]:
    """Tag and title of every head's clearest role: [layer][head]; in a store without roles, its label as tag and title."""
    shares = known_shares(corpus)
    if shares is None:
        return [[(label, label) for label in labels] for labels in corpus.head_labels.values.tolist()]
    return [
        [(shares.clearest_tag(layer, head), shares.clearest_title(layer, head)) for head in range(corpus.heads)]
        for layer in range(corpus.layers)
    ]


def shown_fidelity(opened: xr.Dataset) -> xr.DataArray:
    """Fidelity (measure, layer, head) on held-out sentences; on the fitted sentences where the corpus has no others."""
    held_out = opened.fidelity.sel(judged="held_out")
    any_held_out = bool(held_out.sel(measure="spearman").notnull().any())
    return held_out if any_held_out else opened.fidelity.sel(judged="fitted")


def _panel_line(title: str, shares: NDArray[np.float64], entropy: float, fidelity: NDArray[np.float64]) -> str:
    largest = np.argsort(-shares)[:3]
    most = ", ".join(
        f"{STATISTICS[SHARES[index]].title.removeprefix('attention ')} {100 * shares[index]:.0f}%" for index in largest
    )
    numbers = (
        f"entropy {entropy:.2f} nats; picture: rank correlation {decimal(fidelity[0])}, recall@3 {fidelity[1]:.2f}"
    )
    return "; ".join([title, f"attends {most}", numbers]).removeprefix("; ")


def focus_caption(shown: ShownPoints) -> str | None:
    """A caption for a saved picture on what is drawn over the points; None without a clicked point or a typed sentence."""
    state = shown.state
    if state.token is not None:
        return _describe_point(shown, state.token)
    if state.text is None:
        return None
    second = f" and “{state.second}”" if state.second else ""
    lines = _lines("every query", state.top, state.least)
    return f"Large: the queries and keys of “{state.text}”{second}; {lines}."


def _describe_point(shown: ShownPoints, token: int) -> str:
    corpus, role = shown.corpus, shown.state.role
    row = corpus.rows[token]
    position, sentence = (int(corpus.tokens[name].values[row]) for name in ("position", "sentence_index"))
    (piece,) = corpus.wordpieces(corpus.rows[[token]])
    of = "every query" if shown.state.lines == "sentence" else "the point"
    other = "keys" if role == ROLES[0] else "queries"
    return (
        f"Ringed: the {role} of “{piece}”, position {position} of sentence {sentence:,}. Large: the queries and keys of its sentence; "
        f"{_lines(of, shown.state.top, shown.state.least)}; dashed lines: the "
        f"highest-scoring {other} in the corpus."
    )


def _lines(of: str, top: int, least: float) -> str:
    return f"lines: the {top} largest weights of {of}, at least {least:g}"


def picture_with_pinned(shown: ShownPoints) -> Picture:
    """The picture of the link's head, with the pinned head beside it."""
    picture, second = head_picture(shown), shown.state.second_head
    return _with_second(shown, picture, *second) if second else picture


def _with_second(shown: ShownPoints, picture: Picture, layer: int, head: int) -> Picture:
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
        cards=[str(picture.card), f"{data_link(shown.corpus)}/token/{layer}/{head}/"],
        second=SecondHead(focus=focus_url(shown, layer, head), region=head_region(shown.view, layer, head)),
    )


def pin_links(state: LinkState) -> html.Div:
    """Links that pin the head, swap it with the pinned head, or unpin the pinned head."""
    if state.pinned is None:
        return html.Div(_pin_link("Pin this head", f"{state.layer}-{state.head}", state), className="pin")
    second = state.second_head
    said = _second_head_links(state, *second) if second else [html.Span(PINNED_IS_SHOWN, className="caption")]
    return html.Div([*said, _pin_link("Unpin", None, state)], className="pin")


def _second_head_links(state: LinkState, layer: int, head: int) -> list[Component]:
    """The name of the pinned head, and the link that swaps both heads."""
    swapped = state.with_(layer=layer, head=head, pinned=f"{state.layer}-{state.head}", at=None)
    return [
        html.Span(f"{head_name(layer, head)} pinned", className="caption"),
        dcc.Link("Swap", href=swapped.href, className="act", title=f"{head_name(layer, head)} becomes the head shown"),
    ]


def _pin_link(text: str, pinned: str | None, state: LinkState) -> dcc.Link:
    title = "Keep this head beside the next ones" if pinned else "Show one head"
    return dcc.Link(text, href=state.with_(pinned=pinned, at=None).href, className="act", title=title)


def pinned_name(state: LinkState) -> str:
    """` and L3 H7` where a second head is shown, else nothing."""
    second = state.second_head
    return f" and {head_name(*second)}" if second else ""
