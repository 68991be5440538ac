"""Parts of a corpus: the tokens that filters select, all others beside them, and their numbers, counted once for all readers."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.points.head_tokens import HeadTokens, column_of, columns
from dashboard.points.point_set import Condition, Selection, matching_points, parse_selection, values
from dashboard.points.search import matching_tokens
from dashboard.ui.text import has_part, of_first
from dashboard.ui.work import Job
from dashboard.web.admission import Room, WaitingLine
from dashboard.web.errors import Refusal
from dashboard.web.results import DiskCache, SharedResults, cached, current_cache
from dashboard.web.served_store import ServedStore
from store import Corpus
from store.kernels.heads import head_labels
from store.kernels.statistics import even_entropies
from store.means import Watch
from store.phrases import many
from store.process import reusing_freed_memory
from store.schema import BLOCK

#: Readers who may wait in a process for a count; all waiting readers together are fewer than the server's threads.
WAITING_READERS = 2
#: Readers who may wait in a process for a count of the first tokens.
FIRST_WAITING = 1
#: Readers of files who may wait for the numbers of a part, which another thread counts.
FILE_READERS = 2
BUSY = "The server is busy counting parts of the corpus for other readers. Try again in a few seconds."
#: Message for the reader of a file after the longest wait; the count goes on until the reader asks again.
NOT_COUNTED_YET = "The part is not counted yet. Ask for the file again in a few seconds."
#: Bytes of the largest arrays for which a count reuses freed memory: new memory pages took a third of its processor time.
REUSED = 32 << 20
#: Share of a count's work for head statistics; the rest is for mixing ratios.
MOSTLY = 0.9
#: Names of a part and of the rest where no single category names them.
PART, REST = "filtered tokens", "all others"


@dataclass(frozen=True)
class CountLimits:
    """Limits of counts: tokens that are counted first, bytes that are kept, seconds that readers wait.

    Attributes
    ----------
    first
        Rows whose tokens are counted first: 16 blocks, a uniform sample, where a corpus has more than twice as many.
    fewest
        Least number of sentences of a first count.
    file_bytes
        Bytes of all files of numbers of parts: a file has 0.2 MB for 72 heads.
    file_wait_seconds
        Longest wait of the reader of a file.
    """

    first: int = 16 * BLOCK
    fewest: int = 100
    file_bytes: int = 64 << 20
    file_wait_seconds: float = 10.0


LIMITS = CountLimits()


@dataclass(frozen=True, eq=False)
class Part:
    """Tokens of a corpus, each of them a query in every head.

    Attributes
    ----------
    chosen
        Selection of the tokens: conditions that are the same in all heads, and a search.
    rows
        (token,), whether the token belongs to the part.
    tokens, sentences
        Number of tokens, and of sentences with such a token.
    whole
        Whether nothing was filtered: the numbers then cover all sentences, also sentences without vectors.
    notices
        A sentence on every filter of the link that was ignored.
    minus_rest
        Whether the numbers are differences: of its tokens, minus the numbers of all other tokens.
    first
        Number of first tokens of the corpus that a first count is limited to; None where all are counted.
    """

    chosen: Selection
    rows: NDArray[np.bool_]
    tokens: int
    sentences: int
    whole: bool
    notices: tuple[str, ...] = ()
    minus_rest: bool = False
    first: int | None = None

    @property
    def others(self) -> NDArray[np.bool_]:
        """Whether each token belongs to the rest, with which the part is compared: (token,)."""
        others = ~self.rows
        if self.first is not None:
            others[self.first :] = False
        return others

    @cached_property
    def digest(self) -> str:
        """A hash of the tokens: equal for all filters that select the same tokens."""
        rows = sha256(np.packbits(self.rows).tobytes()).hexdigest()
        rows += "" if self.first is None else f" of the first {self.first}"
        return f"{rows} minus rest" if self.minus_rest else f"{rows}{' whole' * self.whole}"


def part_of(corpus: Corpus, where: str | None, *, q: str | None = None, within: str | None = None) -> Part:
    """The tokens that match all conditions of a link's `where` and its search; all tokens without conditions and search."""
    written = {"where": where or "", "q": q or "", "within": within or ""}
    selection, notices = parse_selection(written, corpus, columns(corpus))
    ignored = [notice for condition in selection.where if (notice := _ignored(corpus, condition))]
    selecting = tuple(part for part in selection.where if _is_complete(part) and not _ignored(corpus, part))
    chosen = replace(selection, where=selecting)
    part = _part(corpus, chosen)
    return replace(part, notices=(*notices, *ignored))


def first_part(corpus: Corpus, part: Part, limits: CountLimits = LIMITS) -> Part | None:
    """The part among the first tokens of a large corpus; None for the whole corpus, a small corpus, and too few sentences."""
    first = int(np.searchsorted(corpus.rows, limits.first))
    if part.whole or corpus.n_tokens <= 2 * first:
        return None
    rows = part.rows.copy()
    rows[first:] = False
    sentences = len(np.unique(corpus.tokens.sentence_index.values[corpus.rows[rows]]))
    few = sentences < limits.fewest
    return None if few else replace(part, rows=rows, tokens=int(rows.sum()), sentences=sentences, first=first)


def part_labels(corpus: Corpus, part: Part, means: xr.DataArray) -> xr.DataArray:
    """Labels of all heads (layer, head), from the means of the part and the lengths of its sentences."""
    if part.whole:
        return corpus.head_labels
    if not part.tokens:
        return xr.full_like(corpus.head_labels, "")
    return head_labels(means, _lengths(corpus, part), corpus.masks)


def uniform_entropy(corpus: Corpus, part: Part) -> NDArray[np.float64]:
    """Entropy of uniform attention in nats, the mean over the part's sentences (layer,); NaN without any."""
    return even_entropies(_lengths(corpus, part), corpus.masks) if part.tokens else np.full(corpus.layers, np.nan)


def _lengths(corpus: Corpus, part: Part) -> NDArray[np.int32]:
    """Number of tokens of every sentence with a token in the part: (sentence,)."""
    if part.whole:
        return corpus.counted_lengths
    sentences = np.unique(corpus.tokens.sentence_index.values[corpus.rows[part.rows]])
    sizes: NDArray[np.int32] = corpus.sentences.row_size.values[sentences]
    return sizes


def _ignored(corpus: Corpus, condition: Condition) -> str | None:
    """Why a condition cannot select tokens, as a sentence; None where it can."""
    column = column_of(corpus, condition.column)
    if column.per_head:
        return f"Ignored a filter: “{column.title}” has a value for each head, so it cannot select tokens of all heads."
    if column.per_role:
        return f"Ignored a filter: every token is both query and key, so “{column.title}” selects none."
    return None


def _is_complete(condition: Condition) -> bool:
    return bool(condition.categories) or condition.low is not None or condition.high is not None


@cached
def _part(corpus: Corpus, chosen: Selection) -> Part:
    drawn = HeadTokens(corpus, corpus.n_tokens)
    rows = matching_tokens(corpus, chosen.q, chosen.within).copy() if chosen.q else np.ones(corpus.n_tokens, bool)
    for condition in chosen.where:
        rows &= matching_points(condition, drawn)[0, :, 0]
    rows.flags.writeable = False
    sentences = np.unique(corpus.tokens.sentence_index.values[corpus.rows[rows]])
    filtered = bool(chosen.where or chosen.q) and has_part(corpus)
    return Part(chosen, rows, int(rows.sum()), len(sentences), bool(rows.all()) and not filtered)


@dataclass(frozen=True)
class PartNumbers:
    """Every number of a part of a corpus.

    Attributes
    ----------
    means
        (source, statistic, layer, head): mean over sentences of the mean over the part's rows; NaN without rows.
    interval, layer_interval
        (bound, source, statistic, layer, head) and, of the mean over heads, (bound, source, statistic, layer): 95%
        intervals by bootstrap over sentences.
    mixing
        (source, ratio, layer), means of the mixing ratios.
    """

    means: xr.DataArray
    interval: xr.DataArray
    layer_interval: xr.DataArray
    mixing: xr.DataArray


def count(corpus: Corpus, part: Part, watch: Watch) -> PartNumbers:
    """Count the numbers of a part from the stored values of its tokens."""
    statistics = corpus.part_statistics(part.rows, lambda share: watch(MOSTLY * share))
    mixing = corpus.mixing_means(part.rows, lambda share: watch(MOSTLY + (1 - MOSTLY) * share))
    return PartNumbers(statistics["mean"], statistics["interval"], statistics["layer_interval"], mixing)


def count_contrast(corpus: Corpus, part: Part, watch: Watch) -> tuple[PartNumbers, PartNumbers]:
    """The numbers of the part, as from `count`, and their differences from the numbers of all other tokens."""
    counted = corpus.contrast_statistics(part.rows, lambda share: watch(MOSTLY * share), part.others)
    mixing = corpus.mixing_means(part.rows, lambda share: watch(MOSTLY + (1 - MOSTLY) * share / 2))
    rest = corpus.mixing_means(part.others, lambda share: watch(MOSTLY + (1 - MOSTLY) * (1 + share) / 2))
    own = PartNumbers(counted["mean"], counted["interval"], counted["layer_interval"], mixing)
    return own, PartNumbers(
        counted["difference"], counted["difference_interval"], counted["difference_layer_interval"], mixing - rest
    )


#: Reads the numbers of a part.
Count = Callable[[Corpus, Part, Watch], PartNumbers]


class PartCounts:
    """Numbers of parts, held by this process or found in the files of a `folder` that all processes of the server share.

    `read` reads the numbers of a part, see `count`.
    """

    def __init__(self, folder: Path, *, limits: CountLimits = LIMITS, read: Count = count) -> None:
        self._results: SharedResults[PartNumbers] = SharedResults(DiskCache(folder / "parts", limits.file_bytes))
        self._limits = limits
        self._read_part = read
        self._turns = WaitingLine(WAITING_READERS, BUSY, name="statistics")
        # The line of short counts, which do not wait for long counts.
        self._first_turns = WaitingLine(FIRST_WAITING, BUSY, name="statistics")
        # One thread more than the line has places: its reader is told that the server is busy.
        self._threads = ThreadPoolExecutor(WAITING_READERS + 2, "part of a file")
        self._under_way: dict[str, Future[PartNumbers]] = {}
        self._readers = Room(FILE_READERS, BUSY)  # each holds a thread of the server
        self._lock = Lock()

    @classmethod
    def of(cls, served_store: ServedStore) -> "PartCounts":
        """Numbers of parts of a served store, in the folder of its server."""
        return cls(served_store.folder)

    def first_part(self, corpus: Corpus, part: Part) -> Part | None:
        """The part among the first tokens of a large corpus; see `first_part`."""
        return first_part(corpus, part, self._limits)

    def find(self, corpus: Corpus, part: Part) -> PartNumbers | None:
        """Numbers that need no counting: of the whole corpus, or of a part that was counted."""
        if part.whole and not part.minus_rest:
            return _numbers_of_corpus(corpus)
        return self._results.find(_key(corpus, part), lambda arrays: _labelled(corpus, arrays))

    def numbers(self, corpus: Corpus, part: Part, counting: Job | None = None) -> PartNumbers:
        """The part's numbers. Raises `Refusal` where too many readers wait, and without `counting` where it takes long."""
        if (numbers := self.find(corpus, part)) is not None:
            return numbers
        return self._soon(corpus, part) if counting is None else self._in_turn(corpus, part, counting)

    def _soon(self, corpus: Corpus, part: Part) -> PartNumbers:
        """Wait for another thread's count. Raises `Refusal` after the longest wait; the count goes on."""
        with self._readers.entered():
            try:
                return self._begun(corpus, part).result(self._limits.file_wait_seconds)
            except TimeoutError:
                raise Refusal(NOT_COUNTED_YET, 503) from None

    def _begun(self, corpus: Corpus, part: Part) -> "Future[PartNumbers]":
        """The running count of this part, begun where there is none."""
        key = _key(corpus, part)
        with self._lock:
            if (count := self._under_way.get(key)) is None:
                count = self._under_way[key] = self._threads.submit(
                    current_cache().run, self._in_turn, corpus, part, Job()
                )
                count.add_done_callback(lambda _: self._under_way.pop(key, None))
            return count

    def _in_turn(self, corpus: Corpus, part: Part, counting: Job) -> PartNumbers:
        turns = self._turns if part.first is None else self._first_turns
        with turns.turn(lambda: counting.reader_left_or_cancelled):
            return self.find(corpus, part) or self._counted(corpus, part, counting)  # somebody may have asked before us

    def _counted(self, corpus: Corpus, part: Part, counting: Job) -> PartNumbers:
        counting.begin(f"Counting {many(part.tokens, 'token')}")
        with reusing_freed_memory(REUSED):
            return self._count(corpus, part, counting)

    def _count(self, corpus: Corpus, part: Part, counting: Job) -> PartNumbers:
        if not part.minus_rest:
            return self._keep(corpus, part, self._read_part(corpus, part, counting.watch))
        own, difference = count_contrast(corpus, part, counting.watch)
        self._keep(corpus, replace(part, minus_rest=False), own)
        return self._keep(corpus, part, difference)

    def _keep(self, corpus: Corpus, part: Part, counted: PartNumbers) -> PartNumbers:
        arrays = {name.name: getattr(counted, name.name).values for name in fields(counted)}
        return self._results.add(_key(corpus, part), counted, arrays)


def _numbers_of_corpus(corpus: Corpus) -> PartNumbers:
    return PartNumbers(corpus.head_statistic, corpus.head_interval, corpus.layer_interval, corpus.layer_mixing)


def _labelled(corpus: Corpus, arrays: Mapping[str, NDArray[Any]]) -> PartNumbers:
    """Arrays of a file, with the dims and coordinates of the numbers of the whole corpus."""
    like = astuple(_numbers_of_corpus(corpus))
    named = zip(fields(PartNumbers), like, strict=True)
    return PartNumbers(*(whole.copy(data=arrays[field.name]) for field, whole in named))


def _key(corpus: Corpus, part: Part) -> str:
    """Name of the file of a part: equal for two filters that choose the same tokens."""
    identity = f"{corpus.snapshot} {corpus.name} {part.digest}"
    return sha256(identity.encode()).hexdigest()


def sides(corpus: Corpus, part: Part) -> tuple[str, str]:
    """Names of a part and of the rest, such as `positive` and `negative` where the corpus has two labels."""
    conditions = part.chosen.where
    if part.chosen.q or len(conditions) != 1 or len(conditions[0].categories) != 1:
        return PART, REST
    column = column_of(corpus, conditions[0].column)
    codes = np.unique(values(column, HeadTokens(corpus, corpus.n_tokens))[0, part.others, 0])
    alone = len(codes) == 1 and codes[0] >= 0
    return conditions[0].categories[0], column.category(int(codes[0])) if alone else REST


def size_of_rest(corpus: Corpus, part: Part) -> str:
    """Sentence on the tokens and sentences that the part is compared with."""
    sentences = np.unique(corpus.tokens.sentence_index.values[corpus.rows[part.others]])
    tokens = many(int(part.others.sum()), "token")
    return f"Subtracted: means over the other {tokens}, in {many(len(sentences), 'sentence')}.{of_first(corpus)}"
