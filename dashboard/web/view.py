"""What a link means: an address found in the store. Bad input is brought into bounds, and said."""

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl

from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sentence import Sentence, stored_sentence
from dashboard.statistics.part_counts import PartCounts
from dashboard.web.library import Library
from dashboard.web.link_fields import of_comparison, of_features, of_picture, of_sentence, of_statistics
from dashboard.web.link_reader import LinkReader
from dashboard.web.reader_gone import asker_gone
from dashboard.web.state import PAGES, Address
from store import Corpus, Snapshot, StoreError
from store.repository.progress import IngestProgress

MAX_QUERY = 8_000


@dataclass(frozen=True)
class Place:
    """An address found in the store: what to show, and what of the link had to be changed."""

    address: Address
    snapshot: Snapshot
    corpus: Corpus
    notices: tuple[str, ...]
    typed: TypedSentences
    counts: PartCounts
    ingest: IngestProgress | None = None
    #: Where the snapshot that was asked for is no longer in the store, and the newest is shown instead.
    expired: bool = False

    @cached_property
    def sentence(self) -> Sentence:
        """The sentence that is looked at: the one a reader typed, else one of the corpus."""
        address = self.address
        if address.text is None:
            return stored_sentence(self.corpus, address.sentence)
        return self.typed.encode(self.corpus, address.text, address.second or "", asker_gone)

    @property
    def view(self) -> str:
        """Name of the view on screen."""
        return self.address.view or self.corpus.views[0]


def find(library: Library, pathname: str | None, search: str | None, standing: str | None = None) -> Place:
    """What a link means in a tab that stands at a snapshot. Raises StoreError only where there is nothing to show at all."""
    notices: list[str] = []
    given = _given(search or "", notices)
    snapshot, expired = _snapshot(library, given.get("snapshot") or standing)
    corpus = _corpus(snapshot, given.get("model"), notices)
    ingest = library.ingest
    read = LinkReader(given, notices, ingest)
    page = _page(pathname, notices)
    address = Address(
        page=page,
        model=corpus.name if len(snapshot.models) > 1 or given.get("model") == corpus.name else None,
        snapshot=snapshot.id if "snapshot" in given and snapshot.id == given["snapshot"] else None,
        **of_picture(read, corpus),
        **of_sentence(read, corpus),
        **of_statistics(read),
        **of_features(read, corpus, page),
        **of_comparison(read),
        other=_other(page, snapshot, corpus, given.get("other"), notices),
    )
    return Place(address, snapshot, corpus, tuple(notices), library.typed, library.counts, ingest, expired)


def _given(search: str, notices: list[str]) -> dict[str, str]:
    if len(search) > MAX_QUERY:
        notices.append(f"A link has at most {MAX_QUERY:,} characters. The rest is left out.")
    return dict(parse_qsl(search[:MAX_QUERY].lstrip("?"), max_num_fields=None))


def _page(pathname: str | None, notices: list[str]) -> str:
    name = (pathname or "/").strip("/")[:80] or "heads"
    if name in PAGES:
        return name
    notices.append(f"There is no page “{name}”. This is the page of all heads.")
    return "heads"


def _snapshot(library: Library, asked: str | None) -> tuple[Snapshot, bool]:
    """The one that is asked for, else the newest; whether the one asked for is no longer in the store."""
    if not asked:
        return library.snapshot(), False
    try:
        return library.snapshot(asked[:80]), False
    except StoreError:
        return library.snapshot(), True


def _corpus(snapshot: Snapshot, asked: str | None, notices: list[str]) -> Corpus:
    if asked and asked not in snapshot.models:
        notices.append(f"There is no model “{asked[:80]}” in this store. This is the one ingested last.")
    return snapshot.corpus(asked if asked in snapshot.models else None)


def _other(page: str, snapshot: Snapshot, corpus: Corpus, asked: str | None, notices: list[str]) -> str | None:
    """Another model: on Compare of the same corpus, on Statistics of as many layers and heads; elsewhere it waits."""
    there = {"compare": on_same_corpus, "statistics": comparable}.get(page, _either)(snapshot, corpus)
    if asked is None or asked in there:
        return asked
    if asked == corpus.name:
        notices.append("A model is not compared with itself. Choose another one.")
        return None
    wanted = "on the same corpus" if page == "compare" else "with as many layers and heads"
    notices.append(f"There is no other model “{asked[:80]}” {wanted}. It is left out.")
    return None


def _either(snapshot: Snapshot, corpus: Corpus) -> list[str]:
    return [*on_same_corpus(snapshot, corpus), *comparable(snapshot, corpus)]


def comparable(snapshot: Snapshot, corpus: Corpus) -> list[str]:
    """Keys of the other models of a snapshot that have as many layers and heads."""
    others = [snapshot.corpus(name) for name in snapshot.models if name != corpus.name]
    return [one.name for one in others if (one.layers, one.heads) == (corpus.layers, corpus.heads)]


def on_same_corpus(snapshot: Snapshot, corpus: Corpus) -> list[str]:
    """Keys of the other models of a snapshot that were run on the same corpus."""
    own = corpus.attributes["corpus"]
    return [name for name, one in snapshot.models.items() if one["corpus"] == own and name != corpus.name]
