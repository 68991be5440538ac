"""Points as a widget draws them: the queries and keys of a head, or of all heads."""

from base64 import b64encode
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from dashboard.canvas.spec import FileSource, Panel, Picture, draw_panels, encode_points, grid_tokens
from dashboard.notebook.state import Choice, State, checked
from dashboard.notebook.widget import Widget
from dashboard.points.clicked_point import focus
from dashboard.points.head_tokens import HeadTokens
from dashboard.points.lasso import Lasso
from dashboard.points.picture import NEAR, head_panels, head_region
from dashboard.points.point_set import encode
from dashboard.points.similar import Point
from dashboard.web.state import LEAST, TOP
from store import Corpus, StoreError
from store.repository.errors import is_integer
from store.repository.history import SHORT_ID
from store.schema.model import ROLES, head_name
from store.schema.pictures import ViewName

#: Beginning of the URLs of data in a widget (assets/notebook/points.mjs).
BASE = "headscape:"
#: Most bytes of the points of all heads.
MOST_BYTES = 400_000
#: Pixels of a panel in a still picture, and between panels.
SIDE, SMALL_SIDE, GAP = 420, 64, 2


@dataclass(frozen=True, eq=False)
class DrawnPoints:
    """The first tokens of a corpus in a view, in one head or, without `head`, in all heads."""

    corpus: Corpus
    view: str
    tokens: int
    layer: int | None = None
    head: int | None = None

    @property
    def _is_one(self) -> bool:
        return self.head is not None

    @cached_property
    def _points(self) -> HeadTokens:
        return HeadTokens(self.corpus, self.tokens, self.layer, self.head)

    @cached_property
    def _places(self) -> NDArray[np.float32]:
        """Positions (panel, token, role, component), 0 to 1."""
        return self._points.places(self.view)

    @property
    def title(self) -> str:
        """The title: heads, tokens and picture."""
        corpus = self.corpus
        of = head_name(self.layer, self.head) if self.layer is not None and self.head is not None else "all heads"
        drawn = f"the first {self.tokens:,} of {corpus.counted_tokens:,} tokens"
        return f"Queries and keys of {of} of {corpus.title}, {drawn}: {ViewName.parse(self.view).title}"

    @property
    def content(self) -> dict[str, Any]:
        """See `PointsContent` of assets/types/notebook.d.ts."""
        return {
            "kind": "points",
            "picture": self._picture.json(),
            "heads": int(self.corpus.heads),
            "tokens": self._drawn_tokens if self._is_one else None,
        }

    @property
    def _picture(self) -> Picture:
        corpus, components = self.corpus, self._places.shape[-1]
        file = FileSource(source=f"{corpus.title}, snapshot {corpus.snapshot[:SHORT_ID]}", stem=corpus.name, notes=[])
        picture = Picture(
            panels=head_panels(corpus, self.view),
            columns=int(corpus.heads),
            label=self.title,
            roles=ROLES,
            dimensions=components,
            points=f"{BASE}points",
            raster="",
            page="notebook",
            file=file,
        )
        if self.layer is None or self.head is None:
            return picture
        return replace(
            picture,
            panels=[Panel(name=head_name(self.layer, self.head))],
            columns=1,
            labels=f"{BASE}labels",
            card=f"{BASE}card/",
            region=head_region(self.view, self.layer, self.head),
        )

    @property
    def _drawn_tokens(self) -> dict[str, Any]:
        """Content of the cards of points: wordpiece (by number), position and sentence of each token."""
        rows, tokens = self._points.rows, self.corpus.tokens
        pieces = [(piece.name, piece.spaced) for piece in self.corpus.pieces(tokens.isel(token=rows))]
        different = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
        return {
            "ids": [different[piece] for piece in pieces],
            "pieces": [name for name, _ in different],
            "texts": [spaced for _, spaced in different],
            "positions": tokens.position.values[rows].tolist(),
            "sentences": tokens.sentence_index.values[rows].tolist(),
        }

    @property
    def data(self) -> dict[str, bytes]:
        """The places of the points."""
        return {"points": encode_points(self._places, width=2 if self._is_one else 1)}

    @property
    def start(self) -> State:
        """The first state: nothing is selected."""
        chosen = {"lasso": None, "token": None, "role": ROLES[0], "at": None}
        return {"layer": self.layer, "head": self.head, **chosen}

    def checked(self, state: State) -> State:
        """A state of drawn tokens and heads, and a region of a drawn head in this view; StoreError otherwise."""
        layers = range(self.corpus.layers) if self.layer is None else range(self.layer, self.layer + 1)
        heads = range(self.corpus.heads) if self.head is None else range(self.head, self.head + 1)
        self._check_region(state["lasso"], layers, heads)
        choices = {
            "layer": Choice(layers, optional=not self._is_one),
            "head": Choice(heads, optional=not self._is_one),
            "token": Choice(range(self.tokens), optional=True),
            "role": Choice(ROLES),
        }
        return checked(state, choices)

    def _check_region(self, lasso: Any, layers: range, heads: range) -> None:
        region = Lasso.parse(lasso) if isinstance(lasso, str) else None
        is_drawn = region is not None and region.view == self.view and region.layer in layers and region.head in heads
        if lasso and not is_drawn:
            raise StoreError(
                f"A state cannot have lasso = {lasso!r:.60}. Draw a region in the picture, or choose None."
            )

    def answer(self, state: State) -> dict[str, Any]:
        """Mask of the points in the region, and the lines of the clicked point."""
        of = {name: state[name] for name in ("lasso", "token", "role")}
        if not self._is_one:
            return {"of": of}
        inside = self._inside(state["lasso"])
        mask = {} if inside is None else {"mask": encode(inside[None])}
        return {"of": of, **mask, **({} if state["token"] is None else {"focus": self._focus(state)})}

    def _inside(self, lasso: str | None) -> NDArray[np.bool_] | None:
        """Whether each point is in a region: (token, role); None without a region."""
        region = Lasso.parse(lasso) if lasso else None
        return None if region is None else self._points.inside(region)

    def _focus(self, state: State) -> dict[str, Any]:
        point = Point(int(self.layer or 0), int(self.head or 0), state["role"], state["token"])
        return focus(self.corpus, self.view, point, top=TOP, least=LEAST, lines="point", near=NEAR)

    def _chosen(self, state: State) -> list[tuple[int, str]]:
        """The selected points, by the number of their token and their role: the points in the region, or else the clicked point."""
        inside = self._inside(state["lasso"])
        if inside is not None:
            return [(int(token), ROLES[role]) for token, role in np.argwhere(inside)]
        return [] if state["token"] is None else [(state["token"], state["role"])]

    def selection(self, state: State) -> dict[str, Any]:
        """The head, and rows of the selected tokens."""
        chosen = {name: state[name] for name in ("layer", "head") if state[name] is not None}
        tokens = sorted({token for token, _ in self._chosen(state)})
        return chosen | ({"token": self.corpus.rows[tokens].tolist()} if tokens else {})

    def table(self, state: State) -> DataFrame:
        """Row of the token axis, sentence, position, wordpiece and role of the selected points."""
        chosen = self._chosen(state)
        rows = self.corpus.rows[[token for token, _ in chosen]]
        columns = {
            "token": rows,
            "sentence": self.corpus.tokens.sentence_index.values[rows],
            "position": self.corpus.tokens.position.values[rows],
            "wordpiece": self.corpus.wordpieces(rows),
            "role": [role for _, role in chosen],
        }
        return DataFrame(columns)

    def still(self, state: State) -> tuple[str, str]:  # noqa: ARG002
        """A still picture of the points, without the selection."""
        side, columns = (SIDE, 1) if self._is_one else (SMALL_SIDE, self.corpus.heads)
        png = draw_panels(self._places, columns=columns, side=side, gap=GAP, scheme="light")
        return "image/png", b64encode(png).decode()


def head_widget(corpus: Corpus, layer: int, head: int, *, view: str, tokens: int) -> Widget:
    """The points of a head; see `headscape.corpus`."""
    if not is_integer(tokens):
        raise StoreError(f"The drawn tokens are a whole number, not {tokens!r}. Give a number from 1.")
    return Widget(DrawnPoints(corpus, view, max(1, min(int(tokens), corpus.n_tokens)), int(layer), int(head)))


def heads_widget(corpus: Corpus, *, view: str) -> Widget:
    """The points of all heads. StoreError where there is no such view."""
    corpus.view(view)
    a_token = len(ROLES) * ViewName.parse(view).components * corpus.layers * corpus.heads
    return Widget(DrawnPoints(corpus, view, max(1, min(grid_tokens(corpus), MOST_BYTES // a_token))))
