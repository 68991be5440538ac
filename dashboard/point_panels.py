"""The Dash component `PointPanels`: panels of points on one WebGL2 canvas. Its JavaScript is in assets/points/."""

from typing import Any

from dash.development.base_component import Component


class PointPanels(Component):
    """Square panels of points, row by row; one panel is the page of a head.

    Parameters
    ----------
    id
        Dash id.
    src, raster
        URLs of the points (see `dashboard.points`) and of the picture drawn where there is no WebGL2.
    card
        URL of a point's card up to the role, `.../token/3/7/`; only with one panel.
    columns
        Panels in a row.
    panels
        For each panel its name and what is said of it on hover: `{"name": "L3 H7", "says": "..."}`.
    label
        What the canvas shows, for a screen reader.
    palette
        Colours by scheme, `dashboard.theme.PALETTE`.
    opened
        Out: index of the panel a reader opened, with a counter: `{"panel": 43, "count": 1}`.
    stepped
        Out: arrow key on a single panel: `{"rows": -1, "columns": 0, "count": 1}`.
    """

    _children_props: list[str] = []  # noqa: RUF012 (Dash reads these as plain class attributes)
    _base_nodes = ["children"]  # noqa: RUF012
    _namespace = "headscape"
    _type = "PointPanels"
    _prop_names = ["id", "src", "raster", "card", "columns", "panels", "label", "palette", "opened", "stepped"]  # noqa: RUF012
    _valid_wildcard_attributes: list[str] = []  # noqa: RUF012
    available_properties = _prop_names
    available_wildcard_properties: list[str] = []  # noqa: RUF012

    def __init__(self, **properties: Any) -> None:
        super().__init__(**{name: value for name, value in properties.items() if value is not None})
