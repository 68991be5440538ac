"""Single flipped bits in files of a store: whether `verify` finds each, and whether a wrong number is served."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

from dashboard.app import create_app
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from store import StoreError, open_corpus, open_snapshot
from store.verify import verify, wrong_files
from tests.bench.table import show
from tests.flips import KINDS, chosen_files, flipped

ROUTES = (
    "tokens.json?tokens=2000",
    "points/{view}/grid.bin?tokens=500",
    "points/{view}/1/0.bin?tokens=5000",
    "colours/entropy/grid.bin?tokens=500",
    "mask/1/0.bin?tokens=5000&q=film",
    "focus/{view}/1/0/query/3.json",
    "statistics.csv",
    "statistics/0/1.parquet",
    "positions/1/0.csv",
    "pairs/1/0.csv",
    "sentence/3/neuron/1/2/4.json",
    "features/sample/cka.csv",
    "features/sample/card/token/7.json",
)
Answers = dict[str, tuple[int, bytes]]


def flips(store: str, count: int) -> None:
    """Flip a bit of a file, request every route, and run `verify`; for `count` files in turn, of every kind."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "store"
        shutil.copytree(store, copy)
        answered = _answers(str(copy), _routes(str(copy)))
        assert all(status == 200 for status, _ in answered.values())
        rows = Counter[tuple[str, str]]()
        for seed, file in enumerate(chosen_files(copy, count, seed=0)):
            kind = file.relative_to(copy).parts[0]
            with flipped(file, seed=seed):
                answers = _answers(str(copy), list(answered))
                rows[kind, "found"] += _is_reported(str(copy))
            rows[kind, "files"] += 1
            rows[kind, "wrong"] += any(
                answer[0] == 200 and answer != answered[route] for route, answer in answers.items()
            )
            rows[kind, "refused"] += any(status != 200 for status, _ in answers.values())
    show(
        f"{count} flipped bits in {count} files, {len(answered)} routes",
        ("kind of file", "files", "found by verify", "some route refuses", "a wrong answer with status 200"),
        [(kind, *(rows[kind, what] for what in ("files", "found", "refused", "wrong"))) for kind in KINDS],
    )


def _routes(url: str) -> list[str]:
    corpus = open_corpus(url)
    base = data_link(corpus)
    return [f"{base}/{route.format(view=corpus.views[0])}" for route in ROUTES]


def _answers(url: str, routes: list[str]) -> Answers:
    """Status and bytes of every route of a newly started server; 503 where the server does not start."""
    try:
        client = create_app(ServedStore(url)).server.test_client()
    except StoreError as error:
        return dict.fromkeys(routes, (503, str(error).encode()))
    responses = {route: client.get(route) for route in routes}
    return {route: (response.status_code, response.data) for route, response in responses.items()}


def _is_reported(url: str) -> bool:
    try:
        return bool(list(wrong_files(url)) or list(verify(open_snapshot(url))))
    except StoreError:
        return True
