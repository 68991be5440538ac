"""Search for tokens of the corpus in any case: by wordpiece, by the beginning of a wordpiece, by a phrase, or by lemma.

A search finds a wordpiece by its name, such as `##ing` or `▁film`; a wordpiece that begins a word also by its text. A phrase selects
the tokens of the words that it covers, even in part. Where the words of a sentence cannot be aligned with its text (the text was cut, or
its tokenizer splits otherwise), the phrase selects all tokens of the sentence.

A page shows the first matching sentences and the found wordpieces; where nothing matches, it says what to do.
"""

import itertools
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.ui.markup import heading, scrolling
from dashboard.ui.work import watched
from dashboard.web.results import cached
from dashboard.web.state import WITHIN, LinkState, Within
from store import Corpus
from store.phrases import many
from store.schema.corpus import CONTINUATION
from store.text import TEXTS_AT_ONCE, Piece

Tokens = NDArray[np.bool_]
#: Separator of sentences; no sentence contains it, as white space within a sentence is a single space.
BETWEEN = "\n"
#: Ranges of Chinese characters: BERT's tokenizer makes each a word of its own, as it does with punctuation.
_IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))
#: White space that `spaced` changes, besides `BETWEEN`.
_WHITE = ("  ", *(letter for letter in map(chr, range(0x3001)) if letter.isspace() and letter not in (" ", BETWEEN)))
#: Most suggested wordpieces, and the largest difference of their length from the text that is searched for.
OFFERED, LONGER = 4, 2
#: Most wordpieces whose matches are listed.
COUNTED = 12
_MATCHED = {"token": "as a token", "prefix": "as a prefix", "phrase": "as a phrase", "lemma": "as a lemma"}


def folded(text: str) -> str:
    """The text in lower case, without changing its length."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def tokens_of_piece(corpus: Corpus, sought: str, within: Within) -> Tokens:
    """Whether the wordpiece of each token of the corpus matches: (token,), False for an empty text. `sought` is in lower case."""
    ids, flags = (corpus.tokens[name].values[corpus.rows] for name in ("token_id", "token_flags"))
    named, spelled = (
        _matching_pieces(pieces, sought, within)[ids] for pieces in (_folded_names(corpus), _folded_piece_texts(corpus))
    )
    matching: Tokens = named | spelled & ((flags & CONTINUATION) == 0)
    return matching


def matching_pieces(pieces: Sequence[Piece], sought: str, within: Within) -> Tokens:
    """Whether wordpieces of a text match: (piece,), as in `tokens_of_piece`."""
    names, texts = (_folded(each) for each in zip(*((piece.name, piece.text) for piece in pieces), strict=True))
    begins = np.array([not piece.continues for piece in pieces])
    return _matching_pieces(names, sought, within) | _matching_pieces(texts, sought, within) & begins


def _matching_pieces(pieces: NDArray[np.str_], sought: str, within: Within) -> NDArray[np.bool_]:
    if not sought or sought.endswith("\0"):  # numpy drops a NUL at the end
        return np.zeros(len(pieces), bool)
    return np.strings.startswith(pieces, sought) if within == "prefix" else pieces == sought


@cached
def _folded_names(corpus: Corpus) -> NDArray[np.str_]:
    return _folded(corpus.vocab)


@cached
def _folded_piece_texts(corpus: Corpus) -> NDArray[np.str_]:
    return _folded(corpus.piece_texts)


def _folded(pieces: Iterable[object]) -> NDArray[np.str_]:
    """Wordpieces in lower case, as an array of numpy's variable-width strings."""
    return np.array([folded(str(piece)) for piece in pieces], np.dtypes.StringDType())


@cached
def occurring_pieces(corpus: Corpus) -> list[str]:
    """Wordpieces of the corpus' tokens in lower case, each once."""
    ids = np.unique(corpus.tokens.token_id.values[corpus.rows])
    return sorted(set(_folded_names(corpus)[ids].tolist()))


@dataclass(frozen=True)
class Texts:
    """The text of all sentences, one after the other.

    Attributes
    ----------
    folded
        The text in lower case, as long as the text itself.
    start
        Where each sentence starts in the text: (sentence,).
    word
        Number in the corpus of each character's word; for a space, of the word before: (character,).
    first_word
        Number of each sentence's first word: (sentence,).
    agrees
        Whether the text has as many words as the tokenizer counted: (sentence,).
    """

    folded: str
    start: NDArray[np.int64]
    word: NDArray[np.int32]
    first_word: NDArray[np.int64]
    agrees: NDArray[np.bool_]


@cached
def texts(corpus: Corpus) -> Texts:
    """The text of a corpus and its words."""
    every = [spaced(str(text)) for text in corpus.sentences.text.values]
    blob = BETWEEN.join(every) + BETWEEN
    start = np.cumsum([0, *(len(text) + 1 for text in every)])[:-1]
    starts_word = word_starts(blob, corpus.splits_at_marks)
    word = np.cumsum(starts_word, dtype=np.int32) - 1
    first_word = word[start].astype(np.int64) + (~starts_word[start])
    count = np.diff(np.append(first_word, int(word[-1]) + 1))
    return Texts(folded(blob), start, word, first_word, count == _token_words(corpus))


def spaced(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def parted(text: str, *, at_marks: bool) -> str:
    """The text with a space between any two words of the tokenizer."""
    starts = word_starts(text, at_marks) if text else ()
    return spaced("".join(f" {letter}" if start else letter for letter, start in zip(text, starts, strict=True)))


def _token_words(corpus: Corpus) -> NDArray[np.int64]:
    """Words of each sentence as the tokenizer counted them."""
    sentence, word = (corpus.tokens[name].values[corpus.rows] for name in ("sentence_index", "word_index"))
    first = np.flatnonzero(np.diff(sentence, prepend=-1))
    return np.maximum.reduceat(word.astype(np.int64), first) + 1


def word_starts(text: str, at_marks: bool) -> NDArray[np.bool_]:
    """Whether a word starts at each character: after a space; with `at_marks` also at and after every mark, as in BERT."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    space, alone = (_characters_where(points, rule) for rule in (str.isspace, _is_alone))
    alone &= at_marks
    before = np.concatenate([[True], (space | alone)[:-1]])
    return alone | (~space & before)


def _characters_where(points: NDArray[np.uint32], rule: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Whether the rule holds for each character; it is evaluated once per distinct character."""
    holds = np.zeros(int(points.max()) + 1, bool)
    for point in np.flatnonzero(np.bincount(points)):
        holds[point] = rule(chr(point))
    return holds[points]


def _is_alone(character: str) -> bool:
    """Whether the character is a word by itself."""
    ascii_mark = character.isascii() and character.isprintable() and not character.isalnum() and character != " "
    point = ord(character)
    return (
        ascii_mark
        or unicodedata.category(character).startswith("P")
        or any(low <= point <= high for low, high in _IDEOGRAPHS)
    )


def matching_tokens(corpus: Corpus, q: str, within: Within) -> Tokens:
    """Whether each token of the corpus matches a search: (token,), False for an empty `q`."""
    return _matching_tokens(corpus, folded(spaced(q)), within)


@cached
def _matching_tokens(corpus: Corpus, sought: str, within: Within) -> Tokens:
    if within == "lemma":
        return _by_lemma(corpus, sought)
    return _by_phrase(corpus, sought) if within == "phrase" else tokens_of_piece(corpus, sought, within)


def _by_lemma(corpus: Corpus, sought: str) -> Tokens:
    """Whether each token belongs to a word with this lemma: (token,), False where words are not annotated."""
    if not (corpus.has_words and sought):
        return np.zeros(corpus.n_tokens, bool)
    codes = [code for code, lemma in enumerate(corpus.words.lemma_names) if folded(str(lemma)) == sought]
    of_word = np.append(np.isin(corpus.words.table.lemma.values, codes), False)  # last: no word
    matching: Tokens = of_word[corpus.token_words[corpus.rows]]
    return matching


def _by_phrase(corpus: Corpus, sought: str) -> Tokens:
    sentence, word_index = (corpus.tokens[name].values[corpus.rows] for name in ("sentence_index", "word_index"))
    return tokens_of_phrase(texts(corpus), sentence, word_index, sought)


def tokens_of_phrase(
    text: Texts, sentence: NDArray[np.integer], word_index: NDArray[np.integer], sought: str
) -> Tokens:
    """Whether tokens, given by sentence and word, belong to a word that the phrase covers: (token,)."""
    at = np.fromiter(occurrences(text.folded, sought), np.int64)
    partly = _sentences_at(text, at)
    aligned = text.agrees[sentence]
    word = np.where(aligned & (word_index >= 0), text.first_word[sentence] + word_index, -1)
    covered = _covered(text.word[at], text.word[at + len(sought) - 1], int(text.word[-1]) + 1)
    return np.where(aligned, covered[word], partly[sentence])


def sentences_with(corpus: Corpus, sought: str, among: int) -> Tokens:
    """Whether each of the first `among` sentences contains the text in any case: (sentence,), False for an empty text."""
    return _sentences_with(corpus, folded(spaced(sought)), among)


@cached
def _sentences_with(corpus: Corpus, wanted: str, among: int) -> Tokens:
    steps = watched(range(0, among, TEXTS_AT_ONCE), f"Searching {many(among, 'sentence')}")
    parts = (_folded_texts(part) for _, part in zip(steps, corpus.counted_texts(among), strict=True))
    # Sentence by sentence, not match by match: a letter occurs far more often than there are sentences.
    return np.fromiter((wanted in sentence for part in parts for sentence in part), bool, among) & bool(wanted)


def _folded_texts(texts: list[str]) -> list[str]:
    """The texts in lower case, with every run of white space as one space.

    Nearly all stored texts have no other white space; checking thousands of texts at once halves the time.
    """
    joined = BETWEEN.join(texts)
    if joined.count(BETWEEN) >= len(texts) or any(white in joined for white in _WHITE):
        joined = BETWEEN.join(map(spaced, texts))
    return folded(joined).split(BETWEEN)


def _sentences_at(text: Texts, at: NDArray[np.int64]) -> Tokens:
    """Whether each sentence contains one of the character positions `at`: (sentence,)."""
    present = np.zeros(len(text.start), bool)
    present[np.searchsorted(text.start, at, side="right") - 1] = True
    return present


def occurrences(text: str, sought: str) -> Iterator[int]:
    """Positions where `sought` starts, overlaps included."""
    at = text.find(sought) if sought else -1
    while at >= 0:
        yield at
        at = text.find(sought, at + 1)


def _covered(first: NDArray[np.int32], last: NDArray[np.int32], words: int) -> NDArray[np.bool_]:
    """Whether each word lies between a `first` and its `last`: (word + 1,); the extra entry, at index -1, is False."""
    steps = np.bincount(first, minlength=words + 1) - np.bincount(last + 1, minlength=words + 1)
    return np.append(np.cumsum(steps)[:words] > 0, False)


@dataclass(frozen=True)
class SentenceHit:
    """A sentence with matches.

    `token` is the first matching token. `parts` are parts of the text, each with whether it matches.
    """

    sentence: int
    token: int
    position: int
    label: str
    parts: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Hits:
    """Matches of a search in the whole corpus: how many tokens and sentences, and the first sentences."""

    tokens: int
    sentences: int
    rows: tuple[SentenceHit, ...]


@cached
def hits(corpus: Corpus, q: str, within: Within, *, limit: int = 50) -> Hits:
    """The matches of a search in the whole corpus."""
    tokens = np.flatnonzero(matching_tokens(corpus, q, within))
    sentences, first = np.unique(corpus.tokens.sentence_index.values[corpus.rows[tokens]], return_index=True)
    each = np.split(tokens, first[1 : limit + 1])[:limit] if len(tokens) else []
    rows = [_sentence(corpus, int(sentence), own) for sentence, own in zip(sentences, each, strict=False)]
    if within == "phrase":
        rows = [replace(row, parts=_marked_phrase(corpus, row.sentence, q)) for row in rows]
    return Hits(len(tokens), len(sentences), tuple(rows))


def _sentence(corpus: Corpus, sentence: int, tokens: NDArray[np.int64]) -> SentenceHit:
    """A sentence with the words of these tokens marked."""
    rows, word_index = corpus.rows[tokens], corpus.tokens.word_index.values
    text = spaced(str(corpus.sentences.text.values[sentence]))
    # Not from `texts`: for 1,000,000 tokens they are too large for the cache, and take half a second for each sentence.
    starts = word_starts(text + BETWEEN, corpus.splits_at_marks)[:-1]
    agrees = starts.sum() == word_index[corpus.sentence_rows(sentence)].max() + 1
    marked = np.isin(np.cumsum(starts) - 1, word_index[rows]) & agrees
    return SentenceHit(
        sentence=sentence,
        token=int(tokens[0]),
        position=int(corpus.tokens.position.values[rows[0]]),
        label=corpus.label_name(sentence),
        parts=_parts(text, marked),
    )


def _marked_phrase(corpus: Corpus, sentence: int, q: str) -> tuple[tuple[str, bool], ...]:
    text, sought = spaced(str(corpus.sentences.text.values[sentence])), folded(spaced(q))
    marked = np.zeros(len(text), bool)
    for at in occurrences(folded(text), sought):
        marked[at : at + len(sought)] = True
    return _parts(text, marked)


def _parts(text: str, marked: NDArray[np.bool_]) -> tuple[tuple[str, bool], ...]:
    """The text split where marks begin and end; a mark never ends in a space."""
    marked = marked & ~(np.array([letter == " " for letter in text], bool) & ~np.append(marked[1:], False))
    cuts = [0, *(np.flatnonzero(np.diff(marked)) + 1).tolist(), len(text)]
    return tuple((text[low:high], bool(marked[low])) for low, high in itertools.pairwise(cuts) if low < high)


def hit_table(corpus: Corpus, state: LinkState, sought: str, hits: Hits | None) -> list[object]:
    """A table of the first matching sentences; nothing where none matches."""
    if not hits or not hits.sentences:
        return []
    rows = [_hit_row(state, sentence) for sentence in hits.rows]
    shown = f"the first {len(rows)} of {hits.sentences:,}" if hits.sentences > len(rows) else f"all {hits.sentences:,}"
    head = heading(("sentence", "token", "label", "text"), {"sentence", "token"})
    return [
        html.H2(f"Sentences with “{sought}”: {shown}"),
        *_by_wordpiece(corpus, state, sought),
        scrolling(html.Table([head, html.Tbody(rows)], className="rows"), "Matching sentences"),
    ]


def _by_wordpiece(corpus: Corpus, state: LinkState, sought: str) -> list[html.P]:
    """Links to search each found wordpiece, with its number of tokens; nothing where all tokens have one wordpiece."""
    ids = corpus.tokens.token_id.values[corpus.rows[matching_tokens(corpus, sought, state.within)]]
    different, counts = np.unique(ids, return_counts=True)
    if len(different) < 2 or state.within == "phrase":
        return []
    order = np.argsort(-counts, kind="stable")
    pieces = [(str(corpus.vocab[different[piece]]), int(counts[piece])) for piece in order[:COUNTED]]
    links = [
        html.Span(
            [dcc.Link(html.Bdi(piece), href=state.with_(q=piece, within="token").href), f" {count:,}"], className="chip"
        )
        for piece, count in pieces
    ]
    more = [f"and {many(len(order) - COUNTED, 'other wordpiece')}"] if len(order) > COUNTED else []
    return [html.P([html.Span("Tokens by wordpiece:"), *links, *more], className="legend")]


def _hit_row(state: LinkState, sentence: SentenceHit) -> html.Tr:
    in_head = state.with_(page="head", token=sentence.token, marks=None, tab="point", at=None)
    text = [html.Mark(part) if marked else part for part, marked in sentence.parts]
    return html.Tr(
        [
            html.Td(
                dcc.Link(
                    f"{sentence.sentence:,}",
                    href=state.of_sentence(sentence.sentence).href,
                    title="Open the sentence",
                ),
                className="number",
            ),
            html.Td(
                dcc.Link(f"at {sentence.position}", href=in_head.href, title="Show the token in its head"),
                className="number",
            ),
            html.Td(html.Bdi(sentence.label)),
            html.Td(text, dir="auto"),
        ]
    )


def no_hits(corpus: Corpus, state: LinkState) -> html.P | None:
    """A line with suggestions where a search has no match, in the place of the number of matches; None without need."""
    sought = spaced(state.q or "")
    if not sought or matching_tokens(corpus, sought, state.within).any():
        return None
    offers = [*_elsewhere(corpus, state, sought), *_similar(corpus, state, sought)]
    clear = dcc.Link("Clear the search", href=state.with_(q=None, within="token").href)
    near = [" Similar: ", *[part for offer in offers for part in (", ", offer)][1:], "."] if offers else []
    text = f"No token matches “{sought}” {_MATCHED[state.within]}. "
    return html.P([text, clear, ".", *near], className="count one-row no-hits", role="status")


def _elsewhere(corpus: Corpus, state: LinkState, sought: str) -> list[dcc.Link]:
    """Links that search the same text in the other ways that find a token."""
    counts = {within: int(matching_tokens(corpus, sought, within).sum()) for within in WITHIN}
    return [
        dcc.Link(f"{many(count, 'token')} {_MATCHED[within]}", href=state.with_(within=within).href)
        for within, count in counts.items()
        if count
    ]


def _similar(corpus: Corpus, state: LinkState, sought: str) -> list[dcc.Link]:
    near = similar_pieces(corpus, sought)
    return [dcc.Link(f"“{piece}”", href=state.with_(q=piece, within="token").href) for piece in near]


def similar_pieces(corpus: Corpus, sought: str) -> list[str]:
    """Wordpieces of the corpus with a similar spelling and the same first letter, the most similar first."""
    wanted = folded(sought)
    similar = [
        piece
        for piece in occurring_pieces(corpus)
        if piece[:1] == wanted[:1] and abs(len(piece) - len(wanted)) <= LONGER
    ]
    return get_close_matches(wanted, similar, n=OFFERED)
