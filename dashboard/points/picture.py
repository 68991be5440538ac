"""What the canvas is asked to draw at a place: the URLs of its parts. Every URL names its snapshot and lasts."""

from typing import Any
from urllib.parse import urlencode

from dashboard.canvas.saved import saved
from dashboard.points.chosen import Chosen
from dashboard.points.focused import focused
from dashboard.statistics.statistics import one_line
from dashboard.ui.theme import PALETTE, ramp
from dashboard.web.data_links import data_link
from dashboard.web.view import Place
from store.schema import ROLES, head_name
from store.views import ViewName

#: Tokens whose wordpieces the browser gets for its labels.
LABELLED = 50_000
#: Keys from anywhere in the corpus that are shown for a point.
NEAR = 10


def grid_picture(place: Place, chosen: Chosen) -> dict[str, Any]:
    """All heads."""
    corpus = place.corpus
    return _picture(place, chosen, "grid") | {
        "columns": corpus.heads,
        "panels": one_line(corpus, place.view),
        "label": f"Queries and keys of {corpus.layers} by {corpus.heads} heads",
    }


def head_picture(place: Place, chosen: Chosen) -> dict[str, Any]:
    """One head, with what is shown of the clicked point."""
    address = place.address
    base, where = data_link(place.corpus), f"{address.layer}/{address.head}"
    name = head_name(address.layer, address.head)
    labelled = min(chosen.drawn.tokens, LABELLED)
    return _picture(place, chosen, where) | {
        "columns": 1,
        "panels": [{"name": name, "says": ""}],
        "shape": [place.corpus.layers, place.corpus.heads],
        "label": f"Queries and keys of {name}",
        "labels": f"{base}/tokens.json?tokens={labelled}" if address.labels else None,
        "card": f"{base}/token/{where}/",
        "chosen": None if address.token is None else {"token": address.token, "role": address.role},
        "focus": focus_url(place),
        "focused": focused(place),
        "marks": marks(address.marks),
        "lasso": address.lasso,
        "region": f"{place.view},{address.layer},{address.head}",
    }


def _picture(place: Place, chosen: Chosen, where: str) -> dict[str, Any]:
    address, base, tokens = place.address, data_link(place.corpus), chosen.drawn.tokens
    mask = f"{base}/mask/{where}.bin?tokens={tokens}{chosen.query}" if chosen.selection else None
    colours = f"{base}/colours/{chosen.colour.name}/{where}.bin?tokens={tokens}" if chosen.coloured else None
    return {
        "roles": list(ROLES),
        "dimensions": ViewName.parse(place.view).components,
        "points": f"{base}/points/{place.view}/{where}.bin?tokens={tokens}",
        "raster": f"{base}/raster/{place.view}/{where}.png?tokens={tokens}",
        "colours": colours,
        "ramp": ramp(chosen.colour.kind) if colours else None,
        "outlined": bool(colours) and chosen.colour.kind == "category",
        "mask": mask,
        "sizes": f"{base}/colours/norm/{where}.bin?tokens={tokens}" if address.size else None,
        "at": address.at,
        "palette": PALETTE,
        "saved": saved(place, chosen.selection.fields),
    }


def focus_url(place: Place) -> str | None:
    """The clicked point's sentence, lines and nearest keys."""
    address = place.address
    if address.token is None:
        return _typed_focus_url(place) if address.text else None
    where = f"{place.view}/{address.layer}/{address.head}/{address.role}/{address.token}"
    asked = f"top={address.top}&least={address.least:g}&lines={address.lines}&near={NEAR}"
    return f"{data_link(place.corpus)}/focus/{where}.json?{asked}"


def _typed_focus_url(place: Place) -> str:
    """A typed sentence in the picture, and its lines."""
    address = place.address
    typed = {"text": address.text, "second": address.second or "", "top": address.top, "least": f"{address.least:g}"}
    return f"{data_link(place.corpus)}/typed/focus/{place.view}/{address.layer}/{address.head}.json?{urlencode(typed)}"


def marks(text: str | None) -> list[list[int]]:
    """Pairs of positions, query and key, from `4-9.4-10`."""
    return [[int(position) for position in pair.split("-")] for pair in (text or "").split(".") if pair]
