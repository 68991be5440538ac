"""What is counted of parts of corpora: once for each part, whichever process of the server is asked."""

import io
import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from hashlib import sha256
from pathlib import Path
from threading import BoundedSemaphore, Lock, get_ident

import numpy as np
import xarray as xr

from dashboard.statistics.part import Part
from dashboard.web.admission import Turns
from dashboard.web.cache import current_cache
from dashboard.web.errors import Refusal
from dashboard.web.library import Library
from store import Corpus
from store.means import Watch

#: Readers who wait in a process while a part is counted; with all others who wait fewer than the server has threads.
WAITING = 3
#: Readers of files who wait for the numbers of a part, which another thread counts.
FILE_READERS = 2
BUSY = "The server is busy counting parts of the corpus for other readers. Try again in a few seconds."
#: Seconds that the reader of a file waits, and what they are told then: it is counted on, for when they ask again.
SOON = 10.0
LATER = "The part is not counted yet. Ask for the file again in a few seconds."
#: Files of numbers of parts: 0.2 MB each for 72 heads.
FILES = 256
#: Share of the work that statistics of heads are; the rest are mixing ratios.
MOSTLY = 0.9


@dataclass(frozen=True)
class PartNumbers:
    """Every number of a part of a corpus.

    Attributes
    ----------
    means
        (source, statistic, layer, head): mean over sentences of the mean over the part's rows; NaN where there are none.
    interval, layer_interval
        (bound, source, statistic, layer, head) and, of the mean over heads, (bound, source, statistic, layer): 95 %
        intervals by bootstrap over sentences.
    mixing
        (source, ratio, layer), means of the mixing ratios.
    """

    means: xr.DataArray
    interval: xr.DataArray
    layer_interval: xr.DataArray
    mixing: xr.DataArray


class Counting:
    """A wait for a count; this one never ends it and tells nobody."""

    def begin(self) -> None:
        """It is this reader's turn."""

    def watch(self, share: float) -> None:
        """So much is done, 0 to 1; raises where nobody waits any more."""

    @property
    def gone(self) -> bool:
        """Whether nobody waits any more."""
        return False


class PartCounts:
    """Numbers of parts, held by this process or found in the files of a `folder` that all processes of the server share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turns = Turns(WAITING, BUSY)
        self._threads = ThreadPoolExecutor(WAITING + 2, "part of a file")  # one more than the line takes is told so
        self._under_way: dict[str, Future[PartNumbers]] = {}
        self._readers = BoundedSemaphore(FILE_READERS)  # each holds a thread of the server
        self._lock = Lock()

    @classmethod
    def of(cls, library: Library) -> "PartCounts":
        """Those of a library, in the folder of its server."""
        return cls(library.folder)

    def find(self, corpus: Corpus, part: Part) -> PartNumbers | None:
        """Numbers that need no counting: of the whole corpus, or of a part that was counted."""
        if part.tokens == corpus.n_tokens:
            return _of_all(corpus)
        key = _key(corpus, part)
        found: PartNumbers | None = current_cache().find(self, key)
        return found or self._read(corpus, key)

    def numbers(self, corpus: Corpus, part: Part, counting: Counting | None = None) -> PartNumbers:
        """The part's numbers. Raises `Refusal` where too many readers wait, and without `counting` where it takes long."""
        if (found := self.find(corpus, part)) is not None:
            return found
        return self._soon(corpus, part) if counting is None else self._in_turn(corpus, part, counting)

    def _soon(self, corpus: Corpus, part: Part) -> PartNumbers:
        """Counted by another thread, which goes on where this one has waited long enough."""
        if not self._readers.acquire(blocking=False):
            raise Refusal(BUSY, 503)
        try:
            return self._begun(corpus, part).result(SOON)
        except TimeoutError:
            raise Refusal(LATER, 503) from None
        finally:
            self._readers.release()

    def _begun(self, corpus: Corpus, part: Part) -> "Future[PartNumbers]":
        """The one count of this part."""
        key = _key(corpus, part)
        with self._lock:
            if (count := self._under_way.get(key)) is None:
                count = self._under_way[key] = self._threads.submit(
                    current_cache().run, self._in_turn, corpus, part, Counting()
                )
                count.add_done_callback(lambda _: self._under_way.pop(key, None))
            return count

    def _in_turn(self, corpus: Corpus, part: Part, counting: Counting) -> PartNumbers:
        with self._turns.turn(lambda: counting.gone):
            return self.find(corpus, part) or self._counted(corpus, part, counting)  # somebody may have asked before us

    def _counted(self, corpus: Corpus, part: Part, counting: Counting) -> PartNumbers:
        counting.begin()
        key = _key(corpus, part)
        counted = count(corpus, part, counting.watch)
        self._write(key, counted)
        return current_cache().get(self, key, lambda: counted)

    def _read(self, corpus: Corpus, key: str) -> PartNumbers | None:
        try:
            with np.load(self._folder / f"{key}.npz", allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except FileNotFoundError:
            return None
        return current_cache().get(self, key, lambda: _labelled(corpus, arrays))

    def _write(self, key: str, numbers: PartNumbers) -> None:
        content = io.BytesIO()
        np.savez(content, **{name.name: getattr(numbers, name.name).values for name in fields(numbers)})
        write_whole(self._folder / f"{key}.npz", content.getvalue())
        oldest_first = sorted(self._folder.glob("*.npz"), key=_age)
        for file in oldest_first[:-FILES]:
            file.unlink(missing_ok=True)


def count(corpus: Corpus, part: Part, watch: Watch) -> PartNumbers:
    """Read what the store has of every token of the part."""
    found = corpus.part_statistics(part.rows, lambda share: watch(MOSTLY * share))
    mixing = corpus.mixing_means(part.rows, lambda share: watch(MOSTLY + (1 - MOSTLY) * share))
    return PartNumbers(found["mean"], found["interval"], found["layer_interval"], mixing)


def write_whole(file: Path, content: bytes) -> None:
    """Others find all of it or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # Another thread may write another file of this count.
    part = file.with_name(f"{file.name}.{os.getpid()}-{get_ident()}")
    part.write_bytes(content)
    part.replace(file)


def _age(file: Path) -> float:
    """When it was written; 0 where another process has just taken it away."""
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0


def _of_all(corpus: Corpus) -> PartNumbers:
    return PartNumbers(corpus.head_statistic, corpus.head_interval, corpus.layer_interval, corpus.layer_mixing)


def _labelled(corpus: Corpus, arrays: dict[str, np.ndarray]) -> PartNumbers:
    """What a file holds, labelled as the numbers of the whole corpus are."""
    like = astuple(_of_all(corpus))
    named = zip(fields(PartNumbers), like, strict=True)
    return PartNumbers(*(whole.copy(data=arrays[field.name]) for field, whole in named))


def _key(corpus: Corpus, part: Part) -> str:
    """Two filters that choose the same tokens are one part."""
    said = f"{corpus.snapshot} {corpus.name} {part.digest}"
    return sha256(said.encode()).hexdigest()
