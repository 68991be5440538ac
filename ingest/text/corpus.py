"""Stage `sentences`: reviews become the sentences and tokens of a corpus group. A larger budget only appends.

The key of a corpus is a hash of its identity: everything that its sentences depend on. A data set must still give the
sentences that the store has of it: an older version may have read a file in another way.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError, short
from ingest.run.files import PLAIN
from ingest.run.progress import bar, say
from ingest.run.settings import AUTO, DEFAULT_SENTENCES, NONE, USUAL, Limits, Settings
from ingest.text.blocks import Block, PlannedCorpus, pack, plan, short_key
from ingest.text.columns import column_codes
from ingest.text.own_tokenizer import check_vocabulary
from ingest.text.reviews import Data, Reviews, read_reviews
from ingest.text.sentences import (
    BY_SCRIPT,
    LINES,
    NOT_SPLIT,
    NUPUNKT,
    PASSAGES,
    TEXTS,
    SampleSize,
    Sentence,
    fewest_tokens,
    index_file,
    one_each,
    smallest_sentences,
    splitter_of,
)
from ingest.text.tokenizer import Tokenizer, Tokens, concatenate
from store.phrases import MANY_CUT, cut_sentences, many
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema import BLOCK
from store.schema.corpus import COLUMN, CORPUS_ARRAYS, PAD

TEXTS_AT_ONCE = 1000
#: Tokens of a short sentence: the sentences of a sample are longer in the mean.
SHORT = 12
#: Reviews that are read of a large data set for each sentence of the budget.
SAMPLED = 2
#: Rule by which words, continuations, marks and special tokens are told; a corpus first made by another rule states it.
TOKEN_RULE = "tokens/2"
#: Attribute of a corpus whose splitter was chosen by the scripts of its texts; an older corpus may hold whole texts.
SCRIPTS_KNOWN = {"scripts_known": True}
#: Texts that tell the scripts of a data set.
TEXTS_LOOKED_AT = 2000


@dataclass(frozen=True)
class Budget:
    """Amount of the data to take, in sentences or in tokens; the tokenizer adds at least `special` tokens to each sentence."""

    sentences: int | None
    tokens: int | None
    special: int = 2

    @classmethod
    def of(cls, settings: Settings) -> "Budget":
        """The budget of the settings, or the default."""
        chosen = settings.sentences is not None or settings.tokens is not None
        return cls(settings.sentences if chosen else DEFAULT_SENTENCES, settings.tokens)

    def is_met(self, sentences: int, tokens: int) -> bool:
        """Whether `sentences` sentences with `tokens` tokens fill the budget."""
        return sentences >= self.sentences if self.sentences else tokens >= (self.tokens or 0)

    def take(self, lengths: NDArray[np.int32]) -> int:
        """Number of these sentences that fit; at least one."""
        if self.sentences:
            return min(self.sentences, len(lengths))
        return max(1, int(np.searchsorted(np.cumsum(lengths), self.tokens or 0, side="right")))

    def sample_size(self, settings: Settings, splitter: str) -> SampleSize:
        """Size of a sample that can fill the budget; with a budget of tokens, one token more than fits."""
        if self.sentences:
            return SampleSize(self.sentences, one_each, self.sentences, settings.seed, splitter)
        count, size = (
            (self.tokens or 0) + 1,
            partial(fewest_tokens, special=self.special, max_length=settings.max_length),
        )
        return SampleSize(count, size, -(-count // SHORT), settings.seed, splitter)

    @property
    def fewest_reviews(self) -> int:
        """Fewest reviews of which the budget takes a sample, not nearly all: each has a sentence, as a rule."""
        return SAMPLED * (self.sentences or -(-(self.tokens or 0) // SHORT))

    @property
    def most_sentences(self) -> int:
        """Most sentences that fit: each has at least a wordpiece between its special tokens."""
        return self.sentences or (self.tokens or 0) // (self.special + 1) + 1


def prepare_corpus(
    writer: Writer,
    settings: Settings,
    data: Data,
    checkpoint: Checkpoint,
    *,
    limits: Limits = USUAL,
    meanwhile: Callable[[], object] = lambda: None,
) -> PlannedCorpus:
    """Write the sentences of the budget unless the store holds them; returns their plan.

    `meanwhile` is called in a thread while other processes split reviews.
    """
    budget = replace(Budget.of(settings), special=2 if checkpoint.family.post_processor else 0)
    read = cache(partial(read_reviews, data, text=settings.text, label=settings.label))
    identity = corpus_identity(writer, settings, data, checkpoint, read)
    key = short_key(data.name, identity)
    group = writer.group(f"corpus/{key}")
    if _holds(group, budget):  # of another model that has the same tokenizer
        check_vocabulary(checkpoint, _read(group, "vocab").tolist())
    else:
        reviews = read().numbered_as(label_names(group))
        if reviews.columns.left_out:
            say(reviews.columns.complaint(short(data.name)))
        empty = 0 if data.form == PLAIN else reviews.without_text  # empty lines part the lines of a text
        if empty:
            whole = f"{many(len(reviews), 'review')} of {short(data.name)}"
            say(f"{empty:,} of {whole} without text in the column {short(reviews.text)!r}: left out.")
        splitter = str(identity["splitter"])
        sentences, tokenizer = _read_sentences(settings, data, checkpoint, budget, reviews, splitter, meanwhile, limits)
        check_prefix(group, sentences, data.name)
        tokens = _tokenize(tokenizer, [sentence.text for sentence in sentences], budget)
        exhausted = len(tokens.lengths) == len(sentences) < budget.most_sentences
        _renew(writer, key, tokens)
        _write(group, sentences[: len(tokens.lengths)], tokens, tokenizer, limits.block)
        _write_columns(group, sentences[: len(tokens.lengths)], reviews)
        group.attrs.update(
            identity
            | SCRIPTS_KNOWN
            | {
                "name": data.name,
                "label_names": reviews.label_names,
                "exhausted": exhausted,
                "truncated": int(tokens.truncated.sum()),
                "marked": int(tokens.marked.sum()),
                "splits_at_marks": tokenizer.splits_at_marks,
                "tokens_asked": budget.tokens or 0,
            }
            | ({"reviews_in_data": data.total} if data.total else {})
        )
        writer.commit(f"sentences of {key}: {len(tokens.lengths):,}")
    _say_marked(group, data)
    return PlannedCorpus(key, _stored_plan(group, budget, limits.block), _token_rule(group))


def find_corpus(
    writer: Writer, settings: Settings, data: Data, checkpoint: Checkpoint, limits: Limits
) -> PlannedCorpus | None:
    """The plan of all stored sentences of the data; None where the store has none."""
    read = partial(read_reviews, data, text=settings.text, label=settings.label)
    key = short_key(data.name, corpus_identity(writer, settings, data, checkpoint, read))
    group = writer.group(f"corpus/{key}")
    return stored_corpus(writer, key, len(_read(group, "row_size")), limits) if "row_size" in group else None


def stored_corpus(writer: Writer, key: str, sentences: int, limits: Limits) -> PlannedCorpus:
    """The plan of the first `sentences` stored sentences."""
    group = writer.group(f"corpus/{key}")
    return PlannedCorpus(key, _stored_plan(group, Budget(sentences, None), limits.block), _token_rule(group))


def cut_report(writer: Writer, corpus: PlannedCorpus, longest: int) -> str:
    """How many sentences of a corpus are cut, in words, for the end of an ingest; the model reads at most `longest` wordpieces."""
    group = writer.group(f"corpus/{corpus.key}")
    facts: dict[str, Any] = dict(group.attrs)
    sentences, cut, max_length = len(_read(group, "row_size")), int(facts["truncated"]), int(facts["max_length"])
    told = f"{cut_sentences(cut, sentences, max_length)}."
    if cut <= MANY_CUT * sentences:
        return told[0].upper() + told[1:]
    longer = (
        f"a --max-length above {max_length} (this model reads {longest})" if max_length < longest else "shorter texts"
    )
    split = ", or split the texts with --sentence-split=auto" if facts["splitter"] in (LINES, TEXTS) else ""
    return f"WARNING: {told} What follows the cut is in no number. Give {longer}{split}."


def corpus_identity(
    writer: Writer, settings: Settings, data: Data, checkpoint: Checkpoint, read: Callable[[], Reviews]
) -> dict[str, Any]:
    """Everything that the sentences of a corpus depend on, by name.

    Where the settings leave the splitter open, the texts tell it; texts of a corpus that the store holds need not be read.
    """
    split = partial(_identity_of, settings, data, checkpoint)
    if data.is_treebank or data.has_mentions:
        return split(NOT_SPLIT if data.is_treebank else PASSAGES)
    if settings.sentence_split != AUTO:
        return split(TEXTS if settings.sentence_split == NONE else LINES)
    groups, keys = writer.group("corpus"), {each: short_key(data.name, split(each)) for each in (BY_SCRIPT, NUPUNKT)}
    held = {each: dict(groups[key].attrs) for each, key in keys.items() if key in groups}
    for each, attributes in held.items():
        if attributes.items() >= SCRIPTS_KNOWN.items():
            return split(each)
    try:
        texts = read().some_texts(TEXTS_LOOKED_AT)
    except IngestError:
        if NUPUNKT not in held:
            raise
        return split(NUPUNKT)  # a store from before, whose data is out of reach
    return split(splitter_of(texts))


def check_prefix(group: zarr.Group, sentences: list[Sentence], name: str) -> None:
    """Refuse sentences whose first ones are not the stored sentences of a corpus.

    Raises
    ------
    IngestError
        Where the store has other texts.
    """
    if "sentence_hash" not in group:
        return
    hashes = np.array([sentence.hash for sentence in sentences], np.uint64)
    stored = np.asarray(array_of(group, "sentence_hash")[: len(hashes)])
    if not np.array_equal(stored, hashes[: len(stored)]):
        raise _read_otherwise(name)


def check_texts(group: zarr.Group, reviews: Reviews, name: str) -> None:
    """Refuse annotated texts that are not those of the store under their numbers.

    Raises
    ------
    IngestError
        Where the store has other texts.
    """
    texts, documents = (np.asarray(array_of(group, array)[:]) for array in ("text", "document"))
    for text, document in zip(texts, documents.tolist(), strict=True):
        if document >= len(reviews) or reviews[document].text != text:
            raise _read_otherwise(name)


def label_names(group: zarr.Group) -> list[str]:
    """Names of the labels of a corpus by number; empty where it has none."""
    names: Any = group.attrs.get("label_names", [])
    return list(names)


def _identity_of(settings: Settings, data: Data, checkpoint: Checkpoint, splitter: str) -> dict[str, Any]:
    return {
        "data_identity": data.identity,
        "text_column": settings.text,
        "label_column": settings.label,
        "splitter": splitter,
        "max_length": settings.max_length,
        "seed": settings.seed,
        "tokenizer_sha256": checkpoint.tokenizer_sha256,
        "block": BLOCK,
        "order": "sentences sorted by the content hash: every prefix is a uniform sample",
    }


def _read_otherwise(name: str) -> IngestError:
    return IngestError(
        f"The store has other sentences of {short(name)} than the data gives now: an older version read it in another way. "
        "Give another --store."
    )


def _say_marked(group: zarr.Group, data: Data) -> None:
    """Say how many sentences have a special token in their text; in an older store they are not counted."""
    marked = int(str(group.attrs.get("marked", 0)))
    if marked:
        sentences = f"{many(marked, 'sentence')} of {data.name} {'has' if marked == 1 else 'have'}"
        say(f"{sentences} a special token in the text, such as [SEP]. The model reads it as one, so it is in no word.")


def _token_rule(group: zarr.Group) -> str:
    return str(group.attrs.get("token_rule", ""))


def _holds(group: zarr.Group, budget: Budget) -> bool:
    """Whether the group fills the budget, also where one more sentence would exceed its tokens and the sum stays below it."""
    if "row_size" not in group:
        return False
    budgeted, lengths = int(str(group.attrs.get("tokens_asked", 0))), _read(group, "row_size")
    return (
        budget.is_met(len(lengths), int(lengths.sum()))
        or bool(group.attrs.get("exhausted"))
        or 0 < (budget.tokens or 0) <= budgeted
    )


def _read_sentences(
    settings: Settings,
    data: Data,
    checkpoint: Checkpoint,
    budget: Budget,
    reviews: Reviews,
    splitter: str,
    meanwhile: Callable[[], object],
    limits: Limits,
) -> tuple[list[Sentence], Tokenizer]:
    tokenizer = Tokenizer(checkpoint.folder, max_length=settings.max_length)
    check_vocabulary(checkpoint, tokenizer.vocab)
    with bar("sentences", total=len(reviews), unit="reviews") as progress:
        sentences = smallest_sentences(
            reviews,
            replace(budget.sample_size(settings, splitter), part_characters=limits.part_characters),
            passed=progress.update,
            meanwhile=meanwhile,
            index=index_file(data.identity, text=reviews.text, splitter=splitter, seed=settings.seed),
        )
    if not sentences:
        if data.form == PLAIN:
            raise IngestError(f"All lines of {data.name} are empty. Give a file with text.")
        raise IngestError(
            f"{data.name} has no text in its column {settings.text!r}. Name the text column with --text=..."
        )
    return sentences, tokenizer


def _tokenize(tokenizer: Tokenizer, texts: list[str], budget: Budget) -> Tokens:
    """Tokens of the texts, as many as the budget takes."""
    parts: list[Tokens] = []
    sentences = tokens = 0
    with bar("tokens", total=len(texts), unit="sentences") as progress:
        while sentences < len(texts) and not budget.is_met(sentences, tokens):
            parts.append(tokenizer.tokenize(texts[sentences : sentences + TEXTS_AT_ONCE]))
            sentences, tokens = sentences + len(parts[-1].lengths), tokens + len(parts[-1].token_id)
            progress.update(len(parts[-1].lengths))
    return _first_sentences(concatenate(parts), budget)


def _first_sentences(tokens: Tokens, budget: Budget) -> Tokens:
    count = budget.take(tokens.lengths)
    stop = int(tokens.lengths[:count].sum())
    return Tokens(
        tokens.lengths[:count],
        tokens.token_id[:stop],
        tokens.position[:stop],
        tokens.word_index[:stop],
        tokens.token_flags[:stop],
        tokens.truncated[:count],
        tokens.marked[:count],
    )


def _renew(writer: Writer, key: str, tokens: Tokens) -> None:
    """Mark a corpus whose stored words or flags differ from the present ones, so that all that follows from them is renewed."""
    group = writer.group(f"corpus/{key}")
    if "row_size" not in group:
        return
    real = np.flatnonzero((_read(group, "token_flags") & PAD) == 0)
    now: dict[str, NDArray[Any]] = {"token_flags": tokens.token_flags, "word_index": tokens.word_index}
    if all(np.array_equal(_read(group, name)[real], values[: len(real)]) for name, values in now.items()):
        return
    if "words" in group:
        writer.delete(f"corpus/{key}/words")
    group.attrs["token_rule"] = TOKEN_RULE


def _write(group: zarr.Group, sentences: list[Sentence], tokens: Tokens, tokenizer: Tokenizer, block: int) -> None:
    starts = pack(tokens.lengths, length=block)
    rows = -(-int(starts[-1] + tokens.lengths[-1]) // block) * block
    create_arrays(
        group, CORPUS_ARRAYS, {"token": rows, "sentence": len(sentences), "vocab": len(tokenizer.vocab), "block": block}
    )
    place = np.repeat(starts - np.concatenate([[0], np.cumsum(tokens.lengths)[:-1]]), tokens.lengths) + np.arange(
        len(tokens.token_id)
    )
    owner = np.repeat(np.arange(len(sentences), dtype=np.int32), tokens.lengths)
    per_token = {
        "token_id": tokens.token_id,
        "position": tokens.position,
        "word_index": tokens.word_index,
        "token_flags": tokens.token_flags,
    }
    for name, values in (per_token | {"sentence_index": owner}).items():
        padded = np.full(rows, CORPUS_ARRAYS[name].fill, CORPUS_ARRAYS[name].dtype)
        padded[place] = values
        array_of(group, name)[:] = padded
    for name, column in _sentence_columns(sentences, tokens, starts).items():
        array_of(group, name)[:] = column
    array_of(group, "vocab")[:] = np.array(tokenizer.vocab, dtype=object)
    array_of(group, "vocab_text")[:] = np.array(
        list(map(tokenizer.piece_text, range(len(tokenizer.vocab)))), dtype=object
    )


def _sentence_columns(sentences: list[Sentence], tokens: Tokens, starts: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    return {
        "row_start": starts,
        "row_size": tokens.lengths,
        "label": np.array([sentence.label for sentence in sentences], np.int16),
        "document": np.array([sentence.document for sentence in sentences], np.int32),
        "sentence_hash": np.array([sentence.hash for sentence in sentences], np.uint64),
        "text": np.array([sentence.text for sentence in sentences], dtype=object),
    }


def _write_columns(group: zarr.Group, sentences: list[Sentence], reviews: Reviews) -> None:
    """Write the categories of every sentence's review. The columns depend on the data only, not on the sample."""
    found = reviews.columns.categorical
    if not found:
        return
    columns = group.require_group("columns")
    create_arrays(columns, {column.array: COLUMN for column in found}, {"sentence": len(sentences)})
    documents = np.array([sentence.document for sentence in sentences])
    for column in found:
        array_of(columns, column.array)[:] = column_codes(reviews.table, column, documents)
    columns.attrs["titles"] = {column.array: column.title for column in found}
    columns.attrs["names"] = {column.array: column.names for column in found}


def _stored_plan(group: zarr.Group, budget: Budget, block: int) -> list[Block]:
    lengths = _read(group, "row_size")
    lengths = lengths[: budget.take(lengths)]
    flags = _read(group, "token_flags")
    real = np.flatnonzero((flags & PAD) == 0)[: int(lengths.sum())]
    return plan(lengths, _read(group, "token_id")[real], flags[real], length=block)


def _read(group: zarr.Group, name: str) -> NDArray[Any]:
    return np.asarray(array_of(group, name)[:])
