"""Requests of many readers to a server: every kind that its pages send, at random; a seed gives the same requests.

Sizes are those that pages offer. Heads, points and sentences are random ones of the corpus. A page asks for several things
of one head, and colleagues look at the same one: every second choice repeats one of the last `RECENT`.
"""

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

from dashboard.canvas.spec import GRID_TOKENS
from dashboard.points.head_tokens import columns
from dashboard.web.http import data_link
from dashboard.web.state import SHOWS
from store import STATISTICS, Corpus, Snapshot

WORDS = (
    "movie",
    "film",
    "actor",
    "music",
    "plot",
    "good",
    "bad",
    "great",
    "story",
    "time",
    "love",
    "war",
    "old",
    "end",
)
#: Tokens of the picture of a head, most often the initial number; pixels of a panel in a picture of one head and of all.
TOKENS, SIDES, SMALL_SIDES = (2_000, 20_000, 20_000, 20_000, 100_000), (400, 600, 900), (80, 96, 120)
#: Choices that are remembered.
RECENT = 30


@dataclass(frozen=True)
class Request:
    """One request; `body` is the form of a POST, None for a GET."""

    kind: str
    path: str
    body: bytes | None = None


T = TypeVar("T")
Make = Callable[[], str | tuple[str, bytes]]


class Mix:
    """Requests to the server of one snapshot."""

    def __init__(self, snapshot: Snapshot, seed: int) -> None:
        self._random = random.Random(seed)
        self._snapshot = snapshot
        self._corpus: Corpus = snapshot.corpus()
        self._base = data_link(self._corpus)
        self._typed = 0
        self._recent: dict[str, deque[object]] = defaultdict(lambda: deque(maxlen=RECENT))
        self._kinds = self._every_kind()

    def __iter__(self) -> Iterator[Request]:
        names = list(self._kinds)
        weights = [weight for weight, _ in self._kinds.values()]
        while True:
            yield self.request_of(self._random.choices(names, weights)[0])

    @property
    def kinds(self) -> list[str]:
        """Names of the kinds of requests."""
        return list(self._kinds)

    def request_of(self, kind: str) -> Request:
        """A request of this kind, another one each time."""
        request = self._kinds[kind][1]()
        return Request(kind, *((request,) if isinstance(request, str) else request))

    def _every_kind(self) -> dict[str, tuple[float, Make]]:
        """How often each kind of request is sent, and the function that makes one, by kind."""
        kinds: dict[str, tuple[float, Make]] = {
            "page": (20, lambda: self._page(self._location())),
            "page Statistics, filtered": (3, lambda: self._page(("/statistics", f"?where={self._where()}"))),
            "points of all heads": (4, lambda: f"{self._view()}/grid.bin?tokens={GRID_TOKENS}"),
            "points of a head": (8, lambda: f"{self._view()}/{self._head()}.bin?tokens={self._tokens()}"),
            "colours of all heads": (4, lambda: f"{self._base}/colours/{self._column()}/grid.bin"),
            "colours of a head": (5, lambda: self._coloured()),
            "mask of all heads": (4, lambda: f"{self._base}/mask/grid.bin?{self._selection()}"),
            "mask of a head": (4, lambda: f"{self._base}/mask/{self._head()}.bin?{self._selection()}"),
            "picture of all heads (PNG)": (1.5, lambda: f"{self._raster()}/grid.png?side={self._of(SMALL_SIDES)}"),
            "picture of a head (PNG)": (2, lambda: f"{self._raster()}/{self._head()}.png?side={self._of(SIDES)}"),
            "card": (15, lambda: f"{self._base}/token/{self._point()}.json"),
            "lines and nearest": (8, lambda: f"{self._base}/focus/{self._view_name()}/{self._point()}.json"),
            "sentence": (8, lambda: f"{self._base}/sentence/{self._sentence()}/{self._of_sentence()}"),
            "typed sentence": (12, lambda: f"{self._base}/typed/{self._of_sentence()}?{self._text()}"),
            "CSV of a head": (1, lambda: f"{self._view()}/{self._head()}.csv?tokens={self._tokens()}"),
            "Parquet of a head": (1, lambda: f"{self._view()}/{self._head()}.parquet?tokens={self._tokens()}"),
            "Parquet of all heads": (0.5, lambda: f"{self._view()}/grid.parquet?tokens={GRID_TOKENS}"),
            "CSV of all heads": (0.3, lambda: f"{self._view()}/grid.csv?tokens={GRID_TOKENS}"),
            "statistics of a part (CSV)": (2, lambda: f"{self._base}/statistics.csv?where={self._where()}"),
            "density": (1, lambda: f"{self._base}/density/raw/{self._head()}.csv"),
            "position means": (1, lambda: f"{self._base}/positions/{self._head()}.csv"),
            "wordpieces": (1, lambda: f"{self._base}/tokens.json?tokens={self._of((GRID_TOKENS, 20_000))}"),
        }
        return kinds | self._of_features() | self._of_two()

    def _of_features(self) -> dict[str, tuple[float, Make]]:
        if not self._corpus.token_sets:
            return {}
        features = self._corpus.features(self._corpus.token_sets[0])
        base, view = f"{self._base}/features/{features.name}", features.views[0]
        token, point = lambda: self._number(features.n_tokens) - 1, lambda: quote(self._random.choice(features.points))
        return {
            "points of features": (3, lambda: f"{base}/points/points/{view}/{point()}.bin?tokens={self._tokens()}"),
            "points of all features": (1, lambda: f"{base}/points/points/{view}/grid.bin?tokens={self._tokens()}"),
            "picture of features (PNG)": (1, lambda: f"{base}/raster/points/{view}/{point()}.png"),
            "card of features": (4, lambda: f"{base}/card/token/{token()}.json"),
            "nearest in features": (3, lambda: f"{base}/focus/points/{view}/{point()}/{token()}.json"),
            "mask of features": (2, lambda: f"{base}/mask.bin?q={self._word()}"),
            "CSV of features": (0.5, lambda: f"{base}/tokens/points/{view}/{point()}.csv"),
        }

    def _of_two(self) -> dict[str, tuple[float, Make]]:
        own = self._corpus.attributes["corpus"]
        others = [name for name, facts in self._snapshot.models.items() if facts["corpus"] == own]
        others = [name for name in others if name != self._corpus.name]
        if not others:
            return {}
        base, view = f"{self._base}/compare/{quote(others[0])}", self._corpus.views[0]
        return {
            "page Compare": (2, lambda: self._page(("/compare", f"?other={others[0]}&{self._layer_and_head()}"))),
            "points of both models": (2, lambda: f"{base}/points/{view}/0/{self._number(self._corpus.heads) - 1}.bin"),
        }

    def _page(self, location: tuple[str, str]) -> tuple[str, bytes]:
        pathname, search = location
        form = {"pathname": pathname, "search": search, "snapshot": self._snapshot.id}
        return "/data/page", urlencode(form).encode()

    def _location(self) -> tuple[str, str]:
        """Path and query of a page, with the fields that its links have most often."""
        token = self._token()
        searches = {
            "overview": {},
            "heads": {"colour": self._column()},
            "head": self._some({"q": self._word(), "token": f"{token}"}),
            "statistics": {"statistic": self._random.choice(list(STATISTICS)[:8])},
            "map": {},
            "features": {"q": self._word()},
            "sentence": {"sentence": f"{self._sentence()}"}
            | self._some({"show": self._of(SHOWS), "find": self._word()}),
            "store": {},
        }
        page, more = self._random.choice(list(searches.items()))
        return f"/{page}", f"?{urlencode(more)}&{self._layer_and_head()}"

    def _some(self, fields: dict[str, str]) -> dict[str, str]:
        """The fields, each with a chance of 1/2."""
        return {name: value for name, value in fields.items() if self._random.random() < 1 / 2}

    def _coloured(self) -> str:
        return f"{self._base}/colours/{self._column()}/{self._head()}.bin?tokens={self._tokens()}"

    def _selection(self) -> str:
        within = self._random.choice(("token", "prefix", "phrase"))
        return self._random.choice((f"q={self._word()}&within={within}", f"where={self._where()}"))

    def _where(self) -> str:
        low, width = self._random.choice((1, 5, 10, 20)), self._random.choice((5, 30))
        either = f"position:{low}..{low + width}", f"sentence_length:{low}..{low + width}"
        return quote(self._random.choice([*either, f"kind:word;{either[0]}"]))

    def _of_sentence(self) -> str:
        layer = self._number(self._corpus.layers) - 1
        return self._random.choice(
            (f"layer/{layer}.bin", f"layer/{layer}.bin", "model.bin", f"weights/{self._head()}.csv")
        )

    def _text(self) -> str:
        """A typed text; every third was typed before, as a page asks for several things of a typed text."""
        self._typed += self._random.random() > 1 / 3
        words = random.Random(self._typed).choices(WORDS, k=20)
        return urlencode({"text": " ".join([*words, str(self._typed)])})

    def _layer_and_head(self) -> str:
        return "layer={}&head={}".format(*self._head().split("/"))

    def _head(self) -> str:
        return self._chosen(
            "head", lambda: f"{self._number(self._corpus.layers) - 1}/{self._number(self._corpus.heads) - 1}"
        )

    def _point(self) -> str:
        return f"{self._head()}/{self._random.choice(('query', 'key'))}/{self._token()}"

    def _token(self) -> int:
        return self._chosen("token", lambda: self._number(self._corpus.n_tokens) - 1)

    def _sentence(self) -> int:
        return self._chosen("sentence", lambda: self._number(self._corpus.n_sentences) - 1)

    def _chosen(self, name: str, choose: Callable[[], T]) -> T:
        """A new choice, or in every second case one of the last `RECENT`."""
        recent: deque[Any] = self._recent[name]
        if recent and self._random.random() < 1 / 2:
            return cast("T", self._random.choice(recent))
        recent.append(new := choose())
        return new

    def _view_name(self) -> str:
        return self._random.choice(self._corpus.views)

    def _view(self) -> str:
        return f"{self._base}/points/{self._view_name()}"

    def _raster(self) -> str:
        return f"{self._base}/raster/{self._view_name()}"

    def _column(self) -> str:
        return self._random.choice(list(columns(self._corpus)))

    def _word(self) -> str:
        return self._random.choice(WORDS)

    def _tokens(self) -> int:
        return self._of(TOKENS)

    def _of(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)

    def _number(self, most: int) -> int:
        return self._random.randint(1, most)
