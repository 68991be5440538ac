"""One sentence's attention in all heads, as peers show it: bytes to the browser, and time until the page can be used."""

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import median

import numpy as np

from store import Corpus
from tests.bench import peer_pages
from tests.bench.own_page import SHOWN, open_ours, served
from tests.bench.page_cost import PATIENCE, Cost, NotUsable, measure
from tests.bench.peer_environments import delivered, python_of
from tests.bench.peer_views import HEADS, LAYERS, VIEWS, View
from tests.bench.table import show
from tests.file_server import file_server

ROUNDS = 3
#: Seconds beyond which a page is not opened again.
LONG = 20
#: Chromium runs no script that is longer than its longest string, and says nothing.
LONGEST_SCRIPT = 2**29 - 24

#: Opens a page with the attention, and returns its cost.
Open = Callable[[], Cost]
#: Peers against which every row has a ratio.
AGAINST = ("BertViz, model view", "Inspectus, line grid")

COLUMNS = ("", "tokens", "bytes", "ms until it can be used", "bytes against BertViz's", "against Inspectus'")
CAPTION = (
    f"Attention of one sentence in {LAYERS} x {HEADS} heads, medians of up to {ROUNDS}; the same weights in every page. "
    "Peers' pages are files, which hold them. Ours asks a server, which computes them from queries and keys; "
    "bytes are those of the whole page with an empty cache"
)


def compare(views: Sequence[View] = VIEWS, lengths: Sequence[int] = (128, 512)) -> None:
    """Measure the peers and this dashboard on the same attention, in sentences of these lengths; print the table."""
    for view in views:
        python_of(view.peer)
    rows: list[tuple[object, ...]] = []
    for tokens in lengths:
        with tempfile.TemporaryDirectory() as folder, served(Path(folder), tokens) as (address, corpus):
            source = Path(folder) / "attention.npz"
            write_attention(source, corpus)
            ways: list[tuple[str, Open]] = [(name, partial(open_ours, address, query)) for name, query in SHOWN.items()]
            ways += [(view.name, partial(open_peer, view, source)) for view in views]
            costs = {name: attempt(way) for name, way in ways}
        rows += [row(name, tokens, cost, [costs.get(peer) for peer in AGAINST]) for name, cost in costs.items()]
    show(CAPTION, COLUMNS, rows)


def write_attention(path: Path, corpus: Corpus) -> None:
    """The first sentence of a corpus, for peers: `attention` (layer, head, query, key) and `tokens`."""
    pieces = corpus.wordpieces(corpus.sentence_rows(0))
    np.savez(path, attention=corpus.pattern(0).values.astype(np.float32), tokens=np.array(list(pieces)))


def attempt(way: Open) -> Cost | NotUsable:
    """The median of some rounds, or the limit that was hit."""
    try:
        costs = [way()]
        while costs[0].seconds < LONG and len(costs) < ROUNDS:
            costs.append(way())
    except NotUsable as limit:
        return NotUsable(f"{limit}{_too_long(limit.bytes)}", limit.bytes)
    return Cost(costs[0].bytes, median(cost.seconds for cost in costs))


def _too_long(size: int) -> str:
    return f": a script may have {LONGEST_SCRIPT:,} characters" if size > LONGEST_SCRIPT else ""


def row(
    name: str, tokens: int, cost: Cost | NotUsable, against: Sequence[Cost | NotUsable | None]
) -> tuple[object, ...]:
    """A line of the table; without bytes and ratios where nothing came to the browser."""
    size = f"{cost.bytes:,.0f}" if cost.bytes else ""
    ratios = [f"{cost.bytes / peer.bytes:.4f}" if cost.bytes and peer and peer.bytes else "" for peer in against]
    return name, tokens, size, str(cost) if isinstance(cost, NotUsable) else f"{1000 * cost.seconds:,.0f}", *ratios


def open_peer(view: View, source: Path) -> Cost:
    """Let the peer write its page, and open it; only the opening is timed."""
    with np.load(source) as arrays:
        tokens = len(arrays["tokens"])
    with tempfile.TemporaryDirectory() as folder:
        _write_page(view, source, Path(folder) / "page.html")
        with file_server(folder) as address:
            return measure(f"{address}/page.html", view.condition(tokens), _delivered())


def _write_page(view: View, source: Path, page: Path) -> None:
    command = [str(part) for part in (python_of(view.peer), "-P", peer_pages.__file__, view.draws, source, page)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise NotUsable(f"page not written after {PATIENCE} s") from None
    except subprocess.CalledProcessError as error:
        if "MemoryError" not in error.stderr:
            raise RuntimeError(error.stderr) from error
        raise NotUsable(f"page not written in {peer_pages.MEMORY_LIMIT // 2**30} GiB") from None


_delivered = cache(delivered)
