"""The corpus that `headscape.open` returns: labelled arrays, and plotly figures of them for a notebook.

The figures show the points of a head, and the attention weights of a head in a sentence. A notebook draws them without further packages,
and an exported notebook keeps them. In a kernel plotly itself requires nbformat, and gives only its own MIME type, which nbconvert
leaves out of HTML.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from numpy.typing import NDArray

from store import Corpus, StoreError
from store.phrases import as_label
from store.process import check_extra
from store.repository.errors import check_head, is_integer
from store.schema.mixing import METHODS
from store.schema.model import ROLES, head_name
from store.schema.pictures import ViewName
from store.text import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xarray import DataArray

    from dashboard.notebook.widget import Widget

#: Okabe and Ito's blue and vermillion, and the shapes of the points: circles are queries, diamonds are keys.
COLOURS = {"query": "#0072B2", "key": "#D55E00"}
SYMBOLS = {"query": "circle", "key": "diamond"}
#: Pixels: side of a head's picture, and side of a token's cell in the matrix of a sentence.
SIZE, CELL = 700, 22
#: Plotly's default renderer in the kernel of Jupyter. With any other, such as one of PLOTLY_RENDERER, plotly draws the figure.
IN_KERNEL = "plotly_mimetype"
HTML = "text/html"
#: Message in place of a figure until a script of the page has found plotly.js.
MISSING = (
    '<p id="{id}-missing">To see this figure, trust the notebook and run it from its first cell: '
    "the output of its first figure holds plotly.js.</p>"
    '<script>if (window.Plotly) document.getElementById("{id}-missing").remove();</script>'
)


class NotebookFigure(go.Figure):  # type: ignore[misc]
    """A figure that draws itself at the end of a cell and with `show()`; the first figure of a notebook contains plotly.js (4.8 MB)."""

    #: The cell whose figure contains plotly.js: when the cell runs again, its new figure contains plotly.js too.
    _bringing: ClassVar[str | None] = None

    def _ipython_display_(self) -> None:
        self.show()

    def show(self, *arguments: Any, **options: Any) -> None:
        """Show the figure; parameters as plotly defines them."""
        if arguments or options or pio.renderers.default != IN_KERNEL:
            super().show(*arguments, **options)
            return
        from IPython.display import display  # every kernel has IPython

        drawn: dict[str, Any] = pio.renderers[IN_KERNEL].to_mimebundle(self.to_dict())
        display({**drawn, HTML: self._html(), "text/plain": f"Figure: {self.layout.title.text}"}, raw=True)

    def _html(self) -> str:
        """The figure as HTML, with plotly.js unless an earlier cell of the notebook contains it."""
        cell, place = _cell(), f"headscape-{uuid4().hex}"
        brings = NotebookFigure._bringing in (None, cell)
        if brings:
            NotebookFigure._bringing = cell
        drawn: str = self.to_html(full_html=False, include_plotlyjs=brings, include_mathjax=False, div_id=place)
        return drawn if brings else MISSING.format(id=place) + drawn


def _cell() -> str:
    """Id of the running cell; where the notebook names no cell, id of the request to run it."""
    from IPython import get_ipython

    request: dict[str, Any] = get_ipython().get_parent()
    return str(request.get("metadata", {}).get("cellId") or request.get("header", {}).get("msg_id", ""))


def head_figure(corpus: Corpus, layer: int, head: int, *, view: str | None, tokens: int) -> NotebookFigure:
    """See `headscape.show`."""
    check_head(layer, head, layers=corpus.layers, heads=corpus.heads)
    if not is_integer(tokens):
        raise StoreError(f"The drawn tokens are a whole number, not {tokens!r}. Give a number from 1.")
    name = view or default_view(corpus)
    rows = corpus.rows[: max(tokens, 1)]
    points = corpus.places(name, rows, layer=layer, head=head)
    labels = _labels(corpus, rows)
    figure = NotebookFigure(
        [_points(points[:, ROLES.index(role)], role, labels) for role in ROLES],
        layout={
            "width": SIZE,
            "height": SIZE,
            "template": "plotly_white",
            "title": {"text": _title(corpus, name, layer, head, len(rows)), "font": {"size": 14}},
        },
    )
    hidden = {"showticklabels": False, "title": ""}
    figure.update_xaxes(**hidden).update_yaxes(**hidden, scaleanchor="x")
    return figure.update_scenes(xaxis=hidden, yaxis=hidden, zaxis=hidden, aspectmode="cube")


def default_view(corpus: Corpus) -> str:
    """The most faithful view of a corpus; raises StoreError where it has none."""
    if not corpus.views:
        raise StoreError(f"{corpus.name} has no pictures yet. Run `headscape projections`.")
    return corpus.views[0]


def _labels(corpus: Corpus, rows: NDArray[np.int64]) -> list[str]:
    """Text of each point under the pointer: its wordpiece and its sentence."""
    sentences = corpus.tokens.sentence_index.values[rows]
    pieces = map(as_label, corpus.wordpieces(rows))
    return [f"{piece}, sentence {sentence}" for piece, sentence in zip(pieces, sentences, strict=True)]


def _points(points: NDArray[np.float32], role: str, labels: list[str]) -> go.Scatter | go.Scatter3d:
    """The points (token, component) of one role."""
    kind = go.Scatter if points.shape[1] == 2 else go.Scatter3d
    return kind(
        **dict(zip("xyz", points.T, strict=False)),
        name=role,
        mode="markers",
        marker={
            "color": COLOURS[role],
            "symbol": SYMBOLS[role],
            "size": 5 if kind is go.Scatter else 3,
            "opacity": 0.6,
        },
        text=labels,
        hovertemplate=f"%{{text}}<extra>{role}</extra>",
    )


def _title(corpus: Corpus, view: str, layer: int, head: int, tokens: int) -> str:
    """Title of a picture: head, view, number of drawn and of all tokens, and rank correlation of distances."""
    fidelity = corpus.view(view).fidelity.sel(layer=layer, head=head, measure="spearman")
    held_out, fitted = (float(fidelity.sel(judged=judged)) for judged in ("held_out", "fitted"))
    measured = f"{fitted:.2f} on fitted sentences" if np.isnan(held_out) else f"{held_out:.2f} on held-out sentences"
    return (
        f"{head_name(layer, head)} of {as_label(corpus.name)}, {tokens:,} of {corpus.counted_tokens:,} tokens<br>"
        f"{ViewName.parse(view).title}, Spearman {measured}"
    )


def sentence_figure(corpus: Corpus, index: int, layer: int, head: int, first: int = 0) -> NotebookFigure:
    """See `headscape.sentence`; of a long sentence, a window of tokens from `first` on."""
    check_head(layer, head, layers=corpus.layers, heads=corpus.heads)
    every = corpus.wordpieces(corpus.sentence_rows(index))
    window = Window.at(first, len(every))
    pattern = corpus.weights(index, layer=layer, head=head, queries=window.positions)
    wordpieces = list(map(as_label, window.of(every)))
    places = np.arange(len(wordpieces))
    weights = go.Heatmap(
        z=window.of(pattern.T).T,
        zmin=0,
        zmax=1,
        colorscale="Blues",
        text=[[f"{query} to {key}" for key in wordpieces] for query in wordpieces],
        hovertemplate="%{text}: %{z:.3f}<extra></extra>",
        colorbar={"title": "weight"},
    )
    side = 200 + CELL * len(wordpieces)
    figure = NotebookFigure(weights, layout={"width": side, "height": side, "template": "plotly_white"})
    figure.update_layout(
        title=f"{head_name(layer, head)} of {as_label(corpus.name)}, sentence {index}: attention weights"
        + ("" if window.is_whole else f", {window.name}")
    )
    figure.update_xaxes(title="key", tickvals=places, ticktext=wordpieces, tickangle=-90)
    return figure.update_yaxes(
        title="query", tickvals=places, ticktext=wordpieces, autorange="reversed", scaleanchor="x"
    )


class HeadCount(int):
    """Number of heads of a layer. A call shows the points of all heads: `corpus.heads()`."""

    corpus: "PicturedCorpus"

    @classmethod
    def of(cls, corpus: "PicturedCorpus", count: int) -> "HeadCount":
        """The number of heads of a corpus, which it can show."""
        counted = cls(count)
        counted.corpus = corpus
        return counted

    def __call__(self, *, view: str | None = None) -> "Widget":
        """The queries and keys of every head, a panel each; a click selects a head. Needs the extra `notebook`.

        Parameters
        ----------
        view
            One of `corpus.views`; None for the most faithful.
        """
        check_extra("notebook")
        from dashboard.notebook.points import heads_widget

        return heads_widget(self.corpus, view=view or default_view(self.corpus))


class PicturedCorpus(Corpus):
    """A `store.Corpus` with widgets: `show(layer, head)`, `heads()` and `sentence(index)`. They need the extra `notebook`."""

    heads: HeadCount

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.heads = HeadCount.of(self, self.heads)

    def show(self, layer: int, head: int, *, view: str | None = None, tokens: int = 2_000) -> "Widget":
        """The queries and keys of a head in one picture: lasso and click select tokens.

        Parameters
        ----------
        layer, head
            0-based.
        view
            One of `corpus.views`; None for the most faithful.
        tokens
            Number of first tokens to draw: the corpus is in random order, so they are a sample.

        Raises
        ------
        StoreError
            Where there is no such head or view.
        """
        check_extra("notebook")
        check_head(layer, head, layers=self.layers, heads=self.heads)
        from dashboard.notebook.points import head_widget

        return head_widget(self, layer, head, view=view or default_view(self), tokens=tokens)

    def context_mixing(self, sentence: int, method: str = "globenc", *, rolled_out: bool = False) -> "DataArray":
        """See `store.Corpus.context_mixing`; `alti`, `value_zeroing` and `decompx` run the model and need the extra `notebook`.

        They read the sentence up to the length that the store was ingested with; DecompX always gives shares of input tokens.
        """
        if method in METHODS:
            return super().context_mixing(sentence, method, rolled_out=rolled_out)
        check_extra("notebook")
        from headscape.arrival import mixing_of_corpus

        return mixing_of_corpus(self, sentence, method, rolled_out=rolled_out)

    def sentence(
        self,
        index: int,
        *,
        show: str = "head",
        layer: int = 0,
        heads: "Sequence[int] | None" = None,
        first: int = 0,
    ) -> "Widget":
        """The attention of all heads in a sentence of the corpus; for options see `headscape.sentence`.

        Raises
        ------
        StoreError
            Where there is no such sentence with vectors, view or head.
        """
        check_extra("notebook")
        from dashboard.notebook.sentence import sentence_widget
        from dashboard.sentence.sentence import stored_sentence

        stored = stored_sentence(self, index)
        query, key, norm = (np.asarray(each) for each in (stored.query, stored.key, stored.value_norm))
        sentence = replace(stored, query=query, key=key, value_norm=norm)
        return sentence_widget(self.title, sentence, show=show, layer=layer, heads=heads, first=first)
