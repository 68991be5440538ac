"""A link is a view: everything on screen, to and from the URL. Bad input is brought into bounds, and said."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode

from dashboard.library import Library
from store import Corpus, Snapshot, StoreError

PAGES = ("heads", "head", "about")
#: Tokens drawn on the page of one head, unless asked otherwise.
HEAD_TOKENS = 20_000
MOST_TOKENS = 1_000_000
MAX_QUERY = 2_000


@dataclass(frozen=True)
class Address:
    """The state of the dashboard."""

    page: str = "heads"
    model: str | None = None
    snapshot: str | None = None
    layer: int = 0
    head: int = 0
    tokens: int = HEAD_TOKENS

    @property
    def href(self) -> str:
        """The link that restores this state."""
        fields = {"model": self.model, "snapshot": self.snapshot}
        if self.page == "head":
            fields |= {"layer": str(self.layer), "head": str(self.head)}
            fields |= {"tokens": str(self.tokens)} if self.tokens != HEAD_TOKENS else {}
        query = urlencode({name: value for name, value in fields.items() if value is not None})
        return f"/{'' if self.page == 'heads' else self.page}" + (f"?{query}" if query else "")

    def on(self, page: str) -> "Address":
        """The same state on another page."""
        return replace(self, page=page)


@dataclass(frozen=True)
class Place:
    """An address found in the store: what to show, and what of the link had to be changed."""

    address: Address
    snapshot: Snapshot
    corpus: Corpus
    notices: tuple[str, ...]


def find(library: Library, pathname: str | None, search: str | None) -> Place:
    """What a link means. Raises StoreError only where there is nothing to show at all."""
    given = dict(parse_qsl((search or "")[:MAX_QUERY].lstrip("?"), max_num_fields=None))
    notices: list[str] = []
    snapshot = _snapshot(library, given.get("snapshot"), notices)
    corpus = _corpus(snapshot, given.get("model"), notices)
    address = Address(
        page=_page(pathname, notices),
        model=corpus.name if len(snapshot.models) > 1 else None,
        snapshot=snapshot.id if "snapshot" in given and snapshot.id == given["snapshot"] else None,
        layer=_number(given, "layer", range(corpus.layers), 0, notices),
        head=_number(given, "head", range(corpus.heads), 0, notices),
        tokens=_number(given, "tokens", range(1, MOST_TOKENS + 1), HEAD_TOKENS, notices),
    )
    return Place(address, snapshot, corpus, tuple(notices))


def _page(pathname: str | None, notices: list[str]) -> str:
    name = (pathname or "/").strip("/")[:80] or "heads"
    if name in PAGES:
        return name
    notices.append(f"There is no page “{name}”. This is the page of all heads.")
    return "heads"


def _snapshot(library: Library, asked: str | None, notices: list[str]) -> Snapshot:
    if asked:
        try:
            return library.snapshot(asked[:80])
        except StoreError:
            notices.append(f"There is no snapshot “{asked[:80]}” any more. This is the newest.")
    return library.snapshot()


def _corpus(snapshot: Snapshot, asked: str | None, notices: list[str]) -> Corpus:
    if asked and asked not in snapshot.models:
        notices.append(f"There is no model “{asked[:80]}” in this store. This is the one ingested last.")
    return snapshot.corpus(asked if asked in snapshot.models else None)


def _number(given: Mapping[str, str], name: str, there: range, default: int, notices: list[str]) -> int:
    """One of the whole numbers that are `there`; what is not is brought to the nearest, with a notice."""
    asked = given.get(name)
    if asked is None:
        return default
    number = (
        int(asked)
        if asked.removeprefix("-").isascii() and asked.removeprefix("-").isdigit() and len(asked) < 12
        else None
    )
    if number in there:
        return int(asked)
    nearest = default if number is None else max(there[0], min(number, there[-1]))
    notices.append(
        f"{name}={asked[:40]} is not to be had: there are {there[0]} to {there[-1]:,}. Shown is {name} {nearest:,}."
    )
    return nearest
