"""The tokenizer that a checkpoint was saved with: loaded, or refused in a sentence that says what it lacks.

transformers' tokenizer of Japanese BERTs finds words with MeCab or Sudachi, and hands out wordpieces without their places
in the text. Words, wordpieces and ids stay its own; a tokenizer of the library `tokenizers` around it also knows which
characters each of them stands for.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from ingest.run.checkpoint import Checkpoint, family_in
from ingest.run.errors import IngestError, cause, short

#: Marks of wordpieces within a word, or at the beginning of one: no part of the spelling.
MARKS = ("##", "\u2581")


def with_offsets(own: Any) -> Any:
    """A `PreTrainedTokenizerFast` with the wordpieces and ids of transformers' `BertJapaneseTokenizer`."""
    from tokenizers import Tokenizer, decoders
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import PreTokenizer
    from tokenizers.processors import BertProcessing
    from transformers import PreTrainedTokenizerFast

    special = own.special_tokens_map
    known = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(WordLevel(own.get_vocab(), unk_token=own.unk_token)),
        model_max_length=own.model_max_length,
        **special,
    )
    # Set afterwards: transformers copies the tokenizer that it is given, and Python code in it cannot be copied.
    known.backend_tokenizer.pre_tokenizer = PreTokenizer.custom(_Splitter(own))
    known.backend_tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    ends = [(own.sep_token, own.sep_token_id), (own.cls_token, own.cls_token_id)]
    known.backend_tokenizer.post_processor = BertProcessing(*ends)
    return known


def of_letters(own: Any) -> Any:
    """A `PreTrainedTokenizerFast` with the tokens and ids of transformers' `EsmTokenizer`: those of the vocabulary, and the rest between.

    White space divides the rest, which is unknown.
    """
    from tokenizers import Regex, Tokenizer, pre_tokenizers
    from tokenizers.models import WordLevel
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    vocab = own.get_vocab()
    tokens = "|".join(map(re.escape, sorted(vocab, key=len, reverse=True)))
    backend = Tokenizer(WordLevel(vocab, unk_token=own.unk_token))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(tokens), "isolated")]
    )
    before, after = own.cls_token, own.eos_token
    backend.post_processor = TemplateProcessing(
        single=f"{before} $A {after}",
        pair=f"{before} $A {after} $B {after}",
        special_tokens=[(token, vocab[token]) for token in (before, after)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=own.model_max_length, **own.special_tokens_map
    )


class _Splitter:
    """Splits a text as the tokenizer does; called by the library `tokenizers`, from several threads."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def pre_tokenize(self, text: Any) -> None:
        """Split a `tokenizers.PreTokenizedString` into words, and these into wordpieces with their ids."""
        from tokenizers import Token

        words: list[_Word] = []

        def split(_number: int, part: Any) -> list[Any]:
            found = _words(self._own, str(part))
            words.extend(found)
            return [part[word.start : word.stop] for word in found]

        text.split(split)
        split_words = iter(words)
        text.tokenize(lambda word: [Token(*piece) for piece in self._pieces(next(split_words), word)])

    def _pieces(self, word: "_Word", text: str) -> Iterator[tuple[int, str, tuple[int, int]]]:
        """Id, wordpiece and bytes of each wordpiece of a word."""
        spelled = list(map(_spelled, word.pieces))
        for piece, (start, stop) in zip(word.pieces, located(spelled, text), strict=True):
            place = len(text[:start].encode()), len(text[:stop].encode())
            yield self._own.convert_tokens_to_ids(piece), piece, place


@dataclass(frozen=True)
class _Word:
    """Characters of a word in a text, and its wordpieces."""

    start: int
    stop: int
    pieces: list[str]


def _spelled(piece: str) -> str:
    for mark in MARKS:
        piece = piece.removeprefix(mark)
    return piece


def _words(own: Any, text: str) -> list[_Word]:
    """The words of a part of a text that has characters; words that share a character are one."""
    never_split = own.all_special_tokens
    spelled = own.word_tokenizer.tokenize(text, never_split=never_split) if own.do_word_tokenize else [text]
    words: list[_Word] = []
    for word, (start, stop) in zip(spelled, located(spelled, text), strict=True):
        pieces = own.subword_tokenizer.tokenize(word) if own.do_subword_tokenize else [word]
        last = words[-1] if words else None
        if last and start < last.stop:
            words[-1] = _Word(last.start, max(stop, last.stop), [*last.pieces, *pieces])
        elif pieces:
            words.append(_Word(start, stop, pieces))
    return words


def located(parts: Sequence[str], text: str) -> list[tuple[int, int]]:
    """First character of each part in a text and the one after its last, in the order of the text.

    Case, accents, width and white space play no part. A part that is spelled otherwise, as an unknown wordpiece is, stands for
    what lies between its neighbours.
    """
    letters = [(letter, place) for place, character in enumerate(text) for letter in _folded(character)]
    spelling, places = "".join(letter for letter, _place in letters), [place for _letter, place in letters]
    found: list[tuple[int, int] | None] = []
    cursor = 0
    for part in parts:
        folded = "".join(map(_folded, part))
        after_gap = bool(found) and found[-1] is None
        place = spelling.find(folded, cursor) if after_gap else cursor if spelling.startswith(folded, cursor) else -1
        if place < 0 or not folded:
            found.append(None)
            continue
        cursor = place + len(folded)
        found.append((places[place], places[cursor - 1] + 1))
    return list(_gaps_filled(found, len(text)))


def _gaps_filled(found: Sequence[tuple[int, int] | None], length: int) -> Iterator[tuple[int, int]]:
    """The places, with places for the parts that were not found."""
    stop = passed = 0
    for is_known, run in groupby(found, key=bool):
        spans = list(run)
        passed += len(spans)
        if is_known:
            yield from filter(None, spans)
            stop = max(stop, *(span[1] for span in spans if span))
            continue
        end = next((span[0] for span in found[passed : passed + 1] if span), length)
        yield from _shared(stop, end, len(spans))


def _shared(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """Characters of each of some parts in a gap: one each where there are as many, a neighbour's where the gap is empty."""
    if stop - start == parts:
        return [(place, place + 1) for place in range(start, stop)]
    return [(start, stop) if start < stop else (max(0, start - 1), max(1, start))] * parts


def _folded(character: str) -> str:
    """The letters that a character is compared by; none for white space, accents and control characters."""
    letters = unicodedata.normalize("NFKD", character).casefold()
    return "".join(letter for letter in letters if unicodedata.category(letter)[0] not in "MZC" and letter != "\ufffd")


#: transformers' classes that give no offsets, and functions that make tokenizers with the same wordpieces and offsets.
WITHOUT_OFFSETS = {"BertJapaneseTokenizer": with_offsets, "EsmTokenizer": of_letters}
#: Messages in which transformers names a package that a tokenizer needs.
PACKAGE = re.compile(r"install ([\w-]+)|The ([\w-]+) dictionary is not installed|requires the ([\w-]+) library")
#: A text that any tokenizer splits into at least one wordpiece.
SAMPLE = "a"
#: A letter that no vocabulary has and no tokenizer leaves out: of the ancient script of South Arabia.
UNKNOWN = "\U00010a60"


def load_tokenizer(folder: Path, name: str = "") -> Any:
    """The tokenizer that a checkpoint was saved with: fast, with the names of the tokens that it puts around a text.

    Messages name the model where `name` does, else the folder.

    Raises
    ------
    IngestError
        Where the tokenizer is missing, cannot be loaded, or does not turn a text into what a model of its family reads.
    """
    import transformers

    family, about = family_in(folder), whose(folder, name)
    files = ("tokenizer.json", family.vocabulary[0])
    if not any((folder / name).is_file() for name in files):  # transformers would make one without wordpieces
        raise IngestError(
            f"{short(name) or folder} has no tokenizer ({' or '.join(files)}). Save it with tokenizer.save_pretrained."
        )
    try:  # with a config, config.json is left alone: it was checked for what the model reads
        config = getattr(transformers, family.config_class)()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, config=config, trust_remote_code=False)
    except ImportError as error:
        raise _uninstalled(folder, about, error) from error
    except Exception as error:  # `tokenizers` raises nothing more exact
        raise IngestError(
            f"{about} cannot be loaded ({cause(error)}). Save it again with tokenizer.save_pretrained."
        ) from error
    tokenizer = _with_offsets(tokenizer, about)
    tokenizer.truncation_side = "right"  # the beginning of a text is kept, whatever was saved
    return _with_ends(tokenizer, about, family.post_processor)


def whose(folder: Path, name: str) -> str:
    """A tokenizer as messages name it: by its model where that has a name, else by its folder."""
    return f"The tokenizer of {short(name)}" if name else f"The tokenizer in {folder}"


def check_vocabulary(checkpoint: Checkpoint, vocab: Sequence[str]) -> None:
    """Refuse a tokenizer with more wordpieces than the embedding of the model has rows; fewer are allowed.

    Raises
    ------
    IngestError
        Names both numbers and the first wordpiece without a row.
    """
    rows = checkpoint.family.size(checkpoint.config, "vocab_size")
    if len(vocab) > rows:
        raise IngestError(
            f"The tokenizer of {short(checkpoint.name)} has {len(vocab):,} wordpieces, and the embedding of the model {rows:,} rows: "
            f"{short(repr(vocab[rows]))} has no vector. Save the model again after model.resize_token_embeddings({len(vocab)})."
        )


def _with_offsets(tokenizer: Any, about: str) -> Any:
    if tokenizer.is_fast:
        return tokenizer
    name = type(tokenizer).__name__
    if name not in WITHOUT_OFFSETS:
        raise IngestError(
            f"{about} ({name}) does not tell which characters of a text a wordpiece stands for. "
            "Save it as a fast tokenizer, in tokenizer.json."
        )
    return WITHOUT_OFFSETS[name](tokenizer)


def _with_ends(tokenizer: Any, about: str, processor: str) -> Any:
    """The tokenizer with the tokens that it puts before and after a text as its cls_token and sep_token."""
    try:
        ends, _unknown = (tokenizer(text)["input_ids"] for text in ("", UNKNOWN))
    except Exception as error:  # `tokenizers` raises nothing more exact
        raise IngestError(
            f"{about} cannot read a text with an unknown letter ({short(error)}). "
            "Save it again with an unk_token that is in its vocabulary."
        ) from error
    if not processor and len(ends) < 2:
        [tokenizer.cls_token] = tokenizer.convert_ids_to_tokens(ends) or [None]
        tokenizer.sep_token = None
        return tokenizer
    if problem := _open_ends(tokenizer, ends):
        raise IngestError(
            f"{about} ({type(tokenizer).__name__}) puts {problem}. "
            f"Save it again with cls_token, sep_token and the post-processor tokenizers.processors.{processor}."
        )
    tokenizer.cls_token, tokenizer.sep_token = tokenizer.convert_ids_to_tokens([ends[0], ends[-1]])
    return tokenizer


def _open_ends(tokenizer: Any, ends: Sequence[int]) -> str:
    """Special tokens that a tokenizer fails to put around a text, in words; empty where it puts both."""
    [sample] = tokenizer([SAMPLE]).encodings
    before, after = (sample.sequence_ids[place] is None for place in (0, -1))
    if before and after and {ends[0], ends[-1]} <= tokenizer.added_tokens_decoder.keys():
        return ""
    if before != after:
        there = short(sample.tokens[0 if before else -1])
        return (
            f"{there} before a text and no [SEP] after it" if before else f"no [CLS] before a text and {there} after it"
        )
    named = tokenizer.cls_token is not None and tokenizer.sep_token is not None
    problem = "it has no post-processor" if named else "it names no cls_token and sep_token"
    return f"no [CLS] before a text and no [SEP] after it: {problem}"


def _uninstalled(folder: Path, about: str, error: ImportError) -> IngestError:
    """The error for a tokenizer that needs a package that is not installed."""
    described: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        described = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    found = PACKAGE.search(str(error))
    package = error.name or (next(filter(None, found.groups())) if found else short(error))
    return IngestError(
        f"{about} ({described.get('tokenizer_class', 'of transformers')}) needs the package {package}, which is not installed. "
        f"Install it: pip install {package}."
    )
