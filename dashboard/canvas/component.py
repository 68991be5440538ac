"""The Dash component `PointPanels`: panels of points on one WebGL2 canvas. Its JavaScript is in assets/canvas/."""

from typing import Any

from dash.development.base_component import Component


class PointPanels(Component):
    """Square panels of points, row by row; one panel is the page of a head. One instance serves all pages.

    Parameters
    ----------
    id
        Dash id.
    picture
        What is shown, None for nothing. A part whose URL stays is not fetched again:

        - `panels`: for each panel its name and what is said of it on hover, `{"name": "L3 H7", "says": "..."}`;
          `shape`: layers and heads of the model, where the single panel is one of its heads; `columns`: panels in a row;
          `label`: what the canvas shows, for a screen reader and under a saved picture
        - `roles`: what the points of a token are, `["query", "key"]` or one of its own
        - `dimensions`: 2 or 3; `points`: URL of the points; `raster`: URL of the picture drawn where there is no WebGL2
        - `colours`: URL of a code per point, None for the colours of the roles;
          `ramp`: colours by code, `{"light": {"query": [...], "key": [...]}, "dark": {...}}`
        - `mask`: URL of what is selected; `sizes`: URL of a size per point; `labels`: URL of the tokens' wordpieces
        - `cards`: of two panels with the same tokens, whose points are pointed at together: that URL for each; `least`: the
          side of a panel in pixels at least
        - `card`: URL of a point's card up to the role, `.../token/3/7/`
        - `chosen`: the clicked point, `{"token": 5, "role": "key"}`; `focus`: URL of its sentence's places and lines,
          `focused`: what these are, in words, for a saved picture; `marks`: pairs of positions in that sentence, `[[4, 9], ...]`
        - `lasso`: the selected region, `region`: what one of this picture begins with, `at`: where the reader looks, both as in a link
        - `titled`: whether each panel has its name above it; `slots`: the place of each panel in the grid, where some stay empty
        - `sequence`: panels that show the same tokens, in order, `[{"name": "L0 mixed", "points": URL, "fields": {...}}]`: of a
          single panel, through which a reader moves; each with its own `label`, and with what the page says of it, `told`
        - `saved`: what a saved picture says beside what stands on the page (`dashboard.canvas.saved`)
        - `page`: where links of this picture go, if not to a head; a panel's `fields` are those that open it, `leaves` those that
          all panels do without; `names`: what the fields of a chosen token and of a region are called
        - `after`: names what a page shows below its picture once that is painted
        - `palette`: colours by scheme, `dashboard.ui.theme.PALETTE`
    opened
        Out: index of the panel a reader opened, with a counter: `{"panel": 43, "count": 1}`.
    left
        Out: a reader went out of a head, back to all of them: `{"panel": 43, "count": 1}`, -1 where it is not known.
    picked
        Out: a point was chosen, token -1 for none: `{"token": 5, "role": "key", "count": 1}`.
    painted
        Out: the picture is painted, now what is below it may come: `{"after": "...", "count": 1}`, "" where nothing is.
    passed
        Out: where in the sequence the points are or go to: `{"panel": 7, "count": 1}`.
    arrived
        Out: where in the sequence a reader stopped: `{"panel": 7, "count": 1}`.
    lassoed
        Out: a region was drawn, "" for none: `{"lasso": "attention-exact-2d,3,7,0,0,100,100,...", "count": 1}`.
    """

    _children_props: list[str] = []  # noqa: RUF012 (Dash reads these as plain class attributes)
    _base_nodes = ["children"]  # noqa: RUF012
    _namespace = "headscape"
    _type = "PointPanels"
    _prop_names = ["id", "picture", "opened", "left", "picked", "lassoed", "passed", "arrived", "painted"]  # noqa: RUF012
    _valid_wildcard_attributes: list[str] = []  # noqa: RUF012
    available_properties = _prop_names
    available_wildcard_properties: list[str] = []  # noqa: RUF012

    def __init__(self, **properties: Any) -> None:
        super().__init__(**{name: value for name, value in properties.items() if value is not None})
