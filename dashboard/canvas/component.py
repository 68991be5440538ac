"""The Dash component `PointPanels`: panels of points on one WebGL2 canvas. Its JavaScript is in assets/canvas/."""

from dashboard.ui.component import BrowserComponent


class PointPanels(BrowserComponent):
    """Square panels of points, row by row; one panel is the page of a head. One instance serves all pages.

    Parameters
    ----------
    id
        Dash id.
    picture
        What is drawn, `dashboard.canvas.spec.Picture` as JSON; None for nothing.
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

    properties = ("id", "picture", "opened", "left", "picked", "lassoed", "step", "arrived", "painted")
