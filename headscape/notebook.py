"""A plotly figure that a notebook draws without further packages, and that stays in the notebook when it is exported.

In a kernel plotly itself asks for nbformat, and gives only its own MIME type, which nbconvert leaves out of HTML.
"""

from typing import Any, ClassVar
from uuid import uuid4

import plotly.graph_objects as go
import plotly.io as pio

#: Plotly's choice in the kernel of Jupyter. Any other, such as that of PLOTLY_RENDERER, stays plotly's.
IN_KERNEL = "plotly_mimetype"
HTML = "text/html"
#: Stands in place of a figure until a script of the page has found plotly.js.
MISSING = (
    '<p id="{id}-missing">To see this figure, trust the notebook and run it from its first cell: '
    "the output of its first figure holds plotly.js.</p>"
    '<script>if (window.Plotly) document.getElementById("{id}-missing").remove();</script>'
)


class NotebookFigure(go.Figure):  # type: ignore[misc]
    """Draws itself at the end of a cell and with `show()`; the first one of a notebook brings plotly.js (4.8 MB)."""

    #: The cell whose figure has brought plotly.js: when the cell runs again, so does its new figure.
    _bringing: ClassVar[str | None] = None

    def _ipython_display_(self) -> None:
        self.show()

    def show(self, *arguments: Any, **options: Any) -> None:
        """As plotly defines it."""
        if arguments or options or pio.renderers.default != IN_KERNEL:
            super().show(*arguments, **options)
            return
        from IPython.display import display  # a kernel has it

        drawn: dict[str, Any] = pio.renderers[IN_KERNEL].to_mimebundle(self.to_dict())
        display({**drawn, HTML: self._html(), "text/plain": f"Figure: {self.layout.title.text}"}, raw=True)

    def _html(self) -> str:
        """The figure as HTML, with plotly.js where no earlier cell of the notebook has brought it."""
        cell, place = _cell(), f"headscape-{uuid4().hex}"
        brings = NotebookFigure._bringing in (None, cell)
        if brings:
            NotebookFigure._bringing = cell
        drawn: str = self.to_html(full_html=False, include_plotlyjs=brings, include_mathjax=False, div_id=place)
        return drawn if brings else MISSING.format(id=place) + drawn


def _cell() -> str:
    """The cell that runs now, as the notebook names it; the request to run it where the notebook names no cell."""
    from IPython import get_ipython

    request: dict[str, Any] = get_ipython().get_parent()
    return str(request.get("metadata", {}).get("cellId") or request.get("header", {}).get("msg_id", ""))
