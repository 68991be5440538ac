"""A reader's hypothesis as a link holds it: the word of the query, the word of the key, and the relation between them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.ui.text import signed
from dashboard.ui.work import current_job
from dashboard.web.admission import Room
from dashboard.web.errors import Refusal
from dashboard.web.results import cached, current_cache
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState, Unit
from store import Corpus
from store.hypothesis import SENTENCES, Hypothesis, HypothesisSentence
from store.kernels.rules import CONTENT_WORDS, FUNCTION_WORDS, NONE, RULES
from store.schema.corpus import NO_WORD
from store.words import ANY

#: An offset, or a range of offsets: `+1`, `-3 to -1`.
_OFFSET = re.compile(r"([+-]?\d{1,3})(?:\s*(?:to|\.\.)\s*([+-]?\d{1,3}))?")
#: Relation of the query's word to the key's word -> clause after the key in a sentence.
_AFTER_KEY: Mapping[str, str] = {
    "depends": "that it depends on",
    "governs": "that depends on it",
    "same": "with the same text elsewhere in the sentence",
    "rest": "that is another wordpiece of its word",
}
#: The relations that need the grammar of words and can have a label.
OF_GRAMMAR = ("depends", "governs")
#: Threads of a worker that test at the same time: each reads vectors of all heads in 250 sentences, 230 MB for bert-base.
READERS = 1
BUSY = "The server tests another hypothesis. Try again in a few seconds."
#: Universal parts of speech, which a corpus without words does not know.
_PARTS_OF_SPEECH = frozenset((*FUNCTION_WORDS, *CONTENT_WORDS, "INTJ", "PUNCT", "SYM", "X"))


@dataclass(frozen=True)
class End:
    """The query's or the key's word of a hypothesis: `any` word, a `part` of speech, a regular `expression`, or a `text`."""

    kind: Literal["any", "part", "expression", "text"]
    text: str = ""

    @classmethod
    def parse(cls, corpus: Corpus, written: str | None) -> "End":
        """The word in a field of a link. NotIngested where the corpus lacks words; Refusal of a bad expression or special token."""
        text = (written or ANY).strip()
        if text == ANY:
            return cls("any")
        if len(text) > 1 and text[0] == text[-1] == "/":
            matching([""], text[1:-1])
            return cls("expression", text[1:-1])
        if text in _PARTS_OF_SPEECH:
            corpus.words  # noqa: B018  # raises where there are none
            return cls("part", text)
        if text.casefold() in _special_texts(corpus):
            raise Refusal(
                f"“{text}” is a special token, which takes no part in a hypothesis. Write a word, or * for any word."
            )
        return cls("text", text)

    def phrase(self, unit: Unit) -> str:
        """The word as a phrase in a sentence."""
        return {
            "any": f"a {unit}",
            "part": f"a {unit} of part of speech {self.text}",
            "expression": f"a {unit} that matches /{self.text}/",
            "text": f"the {unit} “{self.text}”",
        }[self.kind]


@cached
def _special_texts(corpus: Corpus) -> frozenset[str]:
    """The special tokens of the tested sentences, such as [SEP], in small letters."""
    rows = tested_rows(corpus)
    is_special = (corpus.tokens.token_flags.values[rows] & NO_WORD) > 0
    numbers = np.unique(corpus.tokens.token_id.values[rows][is_special])
    return frozenset(str(name).casefold() for name in corpus.vocab[numbers])


@dataclass(frozen=True)
class WrittenHypothesis:
    """A hypothesis that a reader has written.

    Attributes
    ----------
    query, key
        The attending and the attended word.
    offsets
        First and last distance from the query to the key, in `unit`; None for any distance.
    joined, label
        One of `JOINED` or "", and the label of the dependency or "" for any.
    unit
        Word or wordpiece: it has the text, and distances count it.
    """

    query: End
    key: End
    offsets: tuple[int, int] | None
    joined: str
    label: str
    unit: Unit

    @property
    def sentence(self) -> str:
        """The hypothesis as a sentence."""
        said = f"{self.query.phrase(self.unit)} attends to {self.key.phrase(self.unit)}"
        if self.joined:
            said += f" {_AFTER_KEY[self.joined]}" + (f" ({self.label})" if self.label else "")
        if self.offsets:
            ends = dict.fromkeys(signed(offset, 0) for offset in self.offsets)
            said += f", at offset {' to '.join(ends)} in {self.unit}s"
        return f"{said[0].upper()}{said[1:]}."

    @property
    def remark(self) -> str:
        """A remark on a hypothesis that names every word as a key; empty for any other."""
        if self.joined or self.offsets or self.key.kind != "any":
            return ""
        return (
            f" Every {self.unit} is a key, so heads hardly differ. Write a key or an offset, or choose “Between them”."
        )


def read_hypothesis(corpus: Corpus, state: LinkState) -> WrittenHypothesis | None:
    """The hypothesis of a link; None where its fields say nothing.

    Refusal, with what to write instead, of unreadable fields; NotIngested where the hypothesis needs words that the corpus lacks.
    """
    query, key = (End.parse(corpus, written) for written in (state.hquery, state.hkey))
    joined = state.hjoined or ""
    label = (state.hlabel or "") if joined in OF_GRAMMAR else ""
    if joined in OF_GRAMMAR and label not in ("", *labels_of(corpus)):
        raise Refusal(f"No dependency of this corpus has the label “{label}”. Choose another label.")
    written = WrittenHypothesis(query, key, _offsets(state.hoffset), joined, label, state.hunit)
    says_something = joined or written.offsets or {query.kind, key.kind} != {"any"}
    return written if says_something else None


def _offsets(written: str | None) -> tuple[int, int] | None:
    if not written:
        return None
    found = _OFFSET.fullmatch(written.strip().replace("−", "-"))
    if not found:
        raise Refusal(f"“{written}” is no offset. Write one such as +1 or −2, or a range such as −3 to −1.")
    first, last = int(found[1]), int(found[2] or found[1])
    return min(first, last), max(first, last)


def labels_of(corpus: Corpus) -> tuple[str, ...]:
    """Labels of dependencies, as rules see them: in small letters, without the part after a colon. NotIngested without words."""
    names = {name.lower().partition(":")[0] for name in corpus.words.names("relation")}
    return tuple(sorted(names - {""}))


def matching(texts: list[str], expression: str) -> NDArray[np.bool_]:
    """Whether an expression matches anywhere in each text, in any case: (text,). Refusal of an invalid expression.

    A reader writes the expression: RE2 takes a time linear in the texts, and refuses an expression that would be large.
    """
    import pyarrow
    from pyarrow import compute

    try:
        matched = compute.match_substring_regex(pyarrow.array(texts, pyarrow.string()), expression, ignore_case=True)
    except pyarrow.ArrowInvalid as error:
        reason = str(error).partition(":")[2].strip().partition(": ")[0] or "cannot be read"
        raise Refusal(
            f"/{expression}/ is no regular expression here ({reason}). Write another; look-around and back references are not known."
        ) from error
    matches: NDArray[np.bool_] = matched.to_numpy(zero_copy_only=False).astype(bool)
    return matches


@dataclass(frozen=True)
class Units:
    """Words or wordpieces of the tokens in the tested sentences.

    Attributes
    ----------
    number
        Number of each token's word or wordpiece, ascending: (row of the token axis,); `NONE` for a token of no word.
    text, texts
        Index in `texts` of each token's word or wordpiece (row,), and the different texts (text,).
    """

    number: NDArray[np.int64]
    text: NDArray[np.int64]
    texts: NDArray[Any]

    @property
    def folded(self) -> NDArray[np.int64]:
        """A number for the text of each row (row,), equal where texts differ in case alone."""
        _, same = np.unique([text.casefold() for text in self.texts.tolist()], return_inverse=True)
        numbers: NDArray[np.int64] = same[self.text]
        return numbers


@cached
def units_of(corpus: Corpus, unit: Unit) -> Units:
    """Words or wordpieces of the tested sentences; words come from the annotation, else from the tokenizer."""
    rows = tested_rows(corpus)
    if unit == "wordpiece":
        number = np.arange(rows.stop)
        pieces = corpus.piece_texts[corpus.tokens.token_id.values[rows]]
        spelled = np.array([str(piece).strip() for piece in pieces.tolist()], object)
    elif corpus.has_words:
        number = corpus.token_words[rows]
        spelled = np.array([*corpus.words.texts(np.arange(number.max(initial=0) + 1)), ""], object)[number]
    else:
        number, spelled = _tokenizer_words(corpus, rows)
    texts, text = np.unique(np.asarray(spelled, object), return_inverse=True)
    return Units(number, text, texts)


def tested_rows(corpus: Corpus) -> slice:
    """Rows of the token axis with the tested sentences."""
    return slice(0, corpus.sentence_rows(min(SENTENCES, corpus.n_sentences) - 1).stop)


def _tokenizer_words(corpus: Corpus, rows: slice) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number and text of the tokenizer's word at each row: (row,) each."""
    tokens = corpus.tokens
    sentence, word = (tokens[name].values[rows].astype(np.int64) for name in ("sentence_index", "word_index"))
    of_word = word >= 0
    _, number = np.unique((sentence << 32 | word)[of_word], return_inverse=True)
    spelled = [""] * (number.max(initial=-1) + 1)
    for place, piece in zip(number.tolist(), corpus.piece_texts[tokens.token_id.values[rows]][of_word], strict=True):
        spelled[place] += str(piece).strip()
    numbers, texts = np.full(len(word), NONE), np.full(len(word), "", object)
    numbers[of_word], texts[of_word] = number, np.array(spelled, object)[number]
    return numbers, texts


def chosen(corpus: Corpus, end: End, unit: Unit) -> NDArray[np.bool_]:
    """Whether a word of a hypothesis matches each token of the tested sentences: (row of the token axis,)."""
    units = units_of(corpus, unit)
    is_one = units.number >= 0
    if end.kind == "any":
        return is_one
    if end.kind == "part":
        words, names = corpus.words, [*corpus.words.names("part_of_speech"), ""]
        codes = np.append(words.table.part_of_speech.values, -1)[corpus.token_words[: len(is_one)]]
        of_part: NDArray[np.bool_] = np.array(names)[codes] == end.text
        return of_part & is_one
    if unit == "wordpiece" and end.kind == "text" and (spelled := _spelled(corpus, end.text)).any():
        return spelled[: len(is_one)]
    texts = units.texts.tolist()
    matches = (
        matching(texts, end.text)
        if end.kind == "expression"
        else np.array([text.casefold() == end.text.casefold() for text in texts], bool)
    )
    matched: NDArray[np.bool_] = matches[units.text]
    return matched & is_one


def _spelled(corpus: Corpus, written: str) -> NDArray[np.bool_]:
    """Whether each token's wordpiece has this name, if the name has marks that its text lacks, such as `##ing`: (token,)."""
    own = np.flatnonzero(corpus.vocab == written)
    marked = [number for number in own.tolist() if str(corpus.piece_texts[number]).strip() != written]
    of_piece: NDArray[np.bool_] = np.isin(corpus.tokens.token_id.values, marked)
    return of_piece


def named_keys(corpus: Corpus, written: WrittenHypothesis) -> Hypothesis:
    """The function for `Corpus.hypothesis`: from a sentence to the keys (query_token, key_token) that the hypothesis names."""
    units = units_of(corpus, written.unit)
    query, key = (chosen(corpus, end, written.unit) for end in (written.query, written.key))
    folded = units.folded

    def names(sentence: HypothesisSentence) -> NDArray[np.bool_]:
        rows = corpus.sentence_rows(sentence.number)
        number, text = units.number[rows], folded[rows]
        named: NDArray[np.bool_] = query[rows, None] & key[rows]
        if written.offsets:
            offset = number - number[:, None]
            named &= (offset >= written.offsets[0]) & (offset <= written.offsets[1])
        if written.joined == "same":
            named &= (text[:, None] == text) & (number[:, None] != number)
        elif written.joined == "rest":
            named &= RULES["same_word"].targets(sentence.tokens)
        elif written.joined:
            depends = RULES["governor"].targets(sentence.tokens)
            if written.label:
                depends = depends & (sentence.tokens.words.relation == written.label)[:, None]
            named &= depends if written.joined == "depends" else depends.T
        return named

    return names


class RoomToTest(Room):
    """Room for the readers who test a hypothesis in this process."""

    @classmethod
    def of(cls, _served_store: ServedStore) -> "RoomToTest":
        """The room of a served store."""
        return cls(READERS, BUSY)


def tested(served_store: ServedStore, corpus: Corpus, hypothesis: WrittenHypothesis) -> xr.Dataset:
    """The numbers of every head, see `Corpus.hypothesis`. Only a new test takes room; cached numbers take none."""

    def numbers() -> xr.Dataset:
        with served_store.service(RoomToTest).entered():
            return corpus.hypothesis(named_keys(corpus, hypothesis), watch=current_job().watch)

    found: xr.Dataset = current_cache().get(corpus, ("hypothesis", hypothesis), numbers)
    return found
