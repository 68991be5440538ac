"""Words of a corpus with their grammar, the word pairs of a relation, and mentions with their head words and antecedents."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.kernels.relations import MentionHeads, WordPairs
from store.repository.arrays import with_written_attributes
from store.repository.errors import NotIngested, StoreError, check_index
from store.schema.corpus import CATEGORIES, GAP, GENDERS, MENTION_KINDS, NO_GOVERNOR

#: Pattern `ADJ -> NOUN`: a dependent and its governor, or a governor and its dependent.
PATTERN = re.compile(r"\s*(\S+)\s*->\s*(\S+)\s*")
ANY = "*"
#: Stages of an ingest that need words with governors.
OF_GOVERNORS = "relations", "uas"
#: Name of the relation between mentions.
COREFERENCE = "coreference"
#: Columns with the place of a word in the texts.
_PLACE = ("sentence", "character_start", "character_stop")
#: Relations, in any scheme, that join no two words, or whose dependent is no word (Clark et al. 2019, section 4.2).
LEFT_OUT = frozenset(("root", "punct", ""))
#: Universal parts of speech of head words -> kind of the mention.
_KIND_OF = {"PRON": "pronoun", "PROPN": "proper"}


class Words:
    """Words of the sentences of a corpus, without words that were cut off with their sentence.

    Parameters
    ----------
    group
        The group `/corpus/<key>/words`.
    texts
        Text of each sentence of the corpus: (sentence,).
    mentions
        The group `/corpus/<key>/mentions`, empty where the data has no coreference.

    Attributes
    ----------
    identity
        Origin of the annotation: `kind` is gold (of the data) or silver (of a spaCy `pipeline`).
    mentions
        Mentions with gold coreference; None where the data has none.
    """

    def __init__(self, group: xr.Dataset, texts: NDArray[Any], mentions: xr.Dataset) -> None:
        self.identity: Mapping[str, Any] = group.attrs["identity"]
        self._group, self._texts = group, texts
        self.mentions = Mentions(mentions, self) if mentions.attrs else None

    def __repr__(self) -> str:
        return f"<Words: {len(self):,} words of {len(self.size):,} sentences, {self.source}>"

    @property
    def kind(self) -> str:
        """Whether the annotation is `gold` or `silver`."""
        return str(self.identity["kind"])

    @property
    def source(self) -> str:
        """Origin of the annotation, in words."""
        if self.kind == "gold":
            return "gold annotation of the data"
        pipeline = self.identity["pipeline"]
        return f"silver annotation by {pipeline['package']} {pipeline['version']}"

    @cached_property
    def table(self) -> xr.Dataset:
        """Numbers of every word (word), with `sentence` and `word_in_sentence`. Loaded at first use.

        Categories are codes, -1 for none, with their `names` as an attribute.
        """
        size, words = self.size, int(self.size.sum())
        table = self._group.drop_dims(["sentence", "lemma"]).isel(word=slice(0, words)).load()
        for name in CATEGORIES:
            table[name].attrs["names"] = self._group.attrs["names"][name]
        sentence = np.repeat(np.arange(len(size)), size)
        place = np.arange(words) - self.start[sentence]
        return with_written_attributes(table.assign(sentence=("word", sentence), word_in_sentence=("word", place)))

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """First word of each sentence: (sentence,)."""
        start: NDArray[np.int64] = self._group.word_start.values[: len(self._texts)]
        return start

    @cached_property
    def size(self) -> NDArray[np.int32]:
        """Words of each sentence: (sentence,)."""
        size: NDArray[np.int32] = self._group.word_size.values[: len(self._texts)]
        return size

    @cached_property
    def lemma_names(self) -> NDArray[Any]:
        """Lemma of each code of `table.lemma`."""
        return self._group.lemma_names.values

    def names(self, category: str) -> list[str]:
        """Names of a category by code; a category is `relation`, `part_of_speech`, `tag` or `entity`."""
        return list(self._group.attrs["names"][category])

    def __len__(self) -> int:
        return self.table.sizes["word"]

    def rows(self, sentence: int) -> slice:
        """Rows of the word axis that hold a sentence. StoreError where the corpus has no such sentence."""
        check_index("sentence", sentence, len(self.size))
        start = int(self.start[sentence])
        return slice(start, start + int(self.size[sentence]))

    def text(self, sentence: int) -> str:
        """Text of a sentence. StoreError where the corpus has no such sentence."""
        check_index("sentence", sentence, len(self._texts))
        return str(self._texts[sentence])

    def texts(self, rows: slice | NDArray[np.int64]) -> list[str]:
        """Words as they are spelled in the text."""
        places = zip(*(self.table[name].values[rows] for name in _PLACE), strict=True)
        return [str(self._texts[sentence])[start:stop] for sentence, start, stop in places]

    # -- pairs ----------------------------------------------------------------------------------------

    @cached_property
    def dependencies(self) -> WordPairs:
        """Every dependent with its governor, for all relations except `LEFT_OUT`."""
        labels = np.array([name.lower() not in LEFT_OUT for name in [*self.names("relation"), ""]])
        governor = self.table.governor.values
        dependent = np.flatnonzero((governor >= 0) & labels[self.table.relation.values])
        first = self.start[self.table.sentence.values[dependent]]
        return self.pairs(dependent, first + governor[dependent])

    def check_governors(self, stage: str, title: str) -> None:
        """Raise NotIngested for a stage that needs governors, where no word has a governor."""
        if stage in OF_GOVERNORS and not len(self.dependencies.source):
            parsed = self.kind == "gold" or any(self.names("relation"))
            other = (
                "Give data with sentences of two words or more beside punctuation."
                if parsed
                else "Run `headscape ingest --annotate=<spaCy pipeline with a parser>`."
            )
            raise NotIngested(f"{title}: no word has a governor in the {self.source}.", other)

    def pairs(self, source: NDArray[np.integer], target: NDArray[np.integer]) -> WordPairs:
        """Pairs from their rows of the word axis; both words of a pair are in one sentence."""
        place = self.table.word_in_sentence.values.astype(np.int16)
        return WordPairs(
            source.astype(np.int64),
            target.astype(np.int64),
            place[source],
            place[target],
            self.table.sentence.values[source],
        )

    @cached_property
    def relations(self) -> dict[str, WordPairs]:
        """Relation -> its pairs (dependent -> governor), the relation with the most pairs first; coreference last.

        A pair of coreference is the head word of a mention -> the head word of its nearest antecedent.
        """
        label = self.table.relation.values[self.dependencies.source]
        counts = np.bincount(label, minlength=len(self.names("relation")))
        order = [code for code in np.argsort(-counts, kind="stable") if counts[code]]
        named = {self.names("relation")[code]: self.dependencies.only(label == code) for code in order}
        return named | ({COREFERENCE: self.pairs(*self.mentions.links)} if self.mentions else {})

    def find_pairs(self, pattern: str) -> WordPairs:
        """The pairs of a pattern: a relation such as `dobj`, or `ADJ -> NOUN`, words that a dependency joins in either direction.

        Each end of `->` is a part of speech, a tag, a kind of entity, a lemma, or `*`.

        Raises
        ------
        StoreError
            Where the corpus has nothing of this name.
        """
        if not isinstance(pattern, str):
            raise StoreError(
                f"A pattern is a text, not {pattern!r}. Give a relation, or a pattern such as ADJ -> NOUN."
            )
        if pattern.strip() in self.relations:
            return self.relations[pattern.strip()]
        ends = PATTERN.fullmatch(pattern)
        if not ends:
            raise StoreError(
                f"{pattern!r} is no relation of these words. Choose one of {', '.join(self.relations)}, "
                "or give a pattern such as ADJ -> NOUN."
            )
        first, last = (self.matching(end) for end in ends.groups())
        dependent, governor = self.dependencies.source, self.dependencies.target
        up, down = (first[a] & last[b] for a, b in ((dependent, governor), (governor, dependent)))
        return self.pairs(
            np.concatenate([dependent[up], governor[down]]), np.concatenate([governor[up], dependent[down]])
        )

    def matching(self, end: str) -> NDArray[np.bool_]:
        """Whether each word matches one end of a pattern: (word,). StoreError where the corpus has nothing of this name."""
        if end == ANY:
            return np.ones(len(self), np.bool_)
        for category in ("part_of_speech", "tag", "entity"):
            if end in self.names(category):
                chosen: NDArray[np.bool_] = self.table[category].values == self.names(category).index(end)
                return chosen
        lemma = np.flatnonzero(self.lemma_names == end)
        if not len(lemma):
            raise StoreError(
                f"No word of this corpus is called {end!r}. Give a part of speech ({', '.join(self.names('part_of_speech'))}), "
                "a tag, an entity, a lemma, or *."
            )
        return np.isin(self.table.lemma.values, lemma)


class Mentions:
    """Mentions of the sentences of a corpus, from gold coreference; their head words are words of the corpus.

    Parameters
    ----------
    group
        The group `/corpus/<key>/mentions`.
    words
        Words of the same sentences.

    Attributes
    ----------
    scheme
        Kind of the data: `chains`, or triples of a pronoun and two names (`gap`).
    """

    def __init__(self, group: xr.Dataset, words: Words) -> None:
        self.scheme: str = group.attrs["scheme"]
        self._words, self._group = words, group

    def __repr__(self) -> str:
        return f"<Mentions: {self.table.sizes['mention']:,} mentions ({self.scheme})>"

    @cached_property
    def table(self) -> xr.Dataset:
        """Numbers of a mention (mention): `sentence`, `character_start`, `character_stop`, `entity`, `head_word`.

        `head_word` is a row of the word axis, -1 where the mention was cut off with its sentence. Loaded at first use.
        """
        sizes = self._group.mention_size.values[: len(self._words.size)]
        table = self._group.drop_dims("sentence").isel(mention=slice(0, int(sizes.sum()))).load()
        table = table.assign(sentence=("mention", np.repeat(np.arange(len(sizes)), sizes)))
        spans = zip(*(table[name].values for name in ("sentence", "character_start", "character_stop")), strict=True)
        first, last, governor = (
            self._words.table[name].values for name in ("character_start", "character_stop", "governor")
        )
        heads: list[int] = []
        for sentence, start, stop in spans:
            rows = self._words.rows(int(sentence))
            head = head_word(first[rows], last[rows], governor[rows], int(start), int(stop))
            heads.append(-1 if head is None else rows.start + head)
        return table.assign(head_word=("mention", np.array(heads, np.int64)))

    @cached_property
    def kinds(self) -> NDArray[np.intp]:
        """Kind of each mention, an index into `store.schema.corpus.MENTION_KINDS`: (mention,)."""
        names = [*self._words.names("part_of_speech"), ""]
        codes = np.array([MENTION_KINDS.index(_KIND_OF.get(name, "nominal")) for name in names])
        kinds: NDArray[np.intp] = codes[self._words.table.part_of_speech.values[self.table.head_word.values]]
        return kinds

    @cached_property
    def texts(self) -> list[str]:
        """Mentions as they are spelled in the text."""
        spans = (self.table[name].values for name in ("sentence", "character_start", "character_stop"))
        return [self._words.text(sentence)[start:stop] for sentence, start, stop in zip(*spans, strict=True)]

    @cached_property
    def genders(self) -> list[str]:
        """Gender of each pronoun of GAP, "" for its names: (mention,)."""
        return [GENDERS.get(text.lower(), "") for text in self.texts]

    def within(self, sentence: int) -> slice:
        """Rows of the mention axis that belong to a sentence."""
        start, stop = np.searchsorted(self.table.sentence.values, (sentence, sentence + 1))
        return slice(int(start), int(stop))

    def heads(self, sentence: int) -> MentionHeads:
        """Head words, as indices in the sentence, and entities of the mentions of a sentence that the model sees."""
        rows = np.arange(self.within(sentence).start, self.within(sentence).stop)
        rows = rows[self.table.head_word.values[rows] >= 0]
        words = self._words.table.word_in_sentence.values[self.table.head_word.values[rows]]
        return MentionHeads(rows, words.astype(np.int64), self.table.entity.values[rows].astype(np.int64))

    @cached_property
    def links(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Head word of every mention with an antecedent, and head word of the nearest antecedent, as rows of the word axis."""
        found: list[tuple[int, int]] = []
        for sentence in np.unique(self.table.sentence.values):
            heads = self.heads(int(sentence))
            linked = self._answers(heads) if self.scheme == GAP else heads.nearest_antecedents()
            first = self._words.rows(int(sentence)).start
            found += [(first + int(heads.word[one]), first + int(heads.word[other])) for one, other in linked]
        pairs = np.array(found, np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    @staticmethod
    def _answers(heads: MentionHeads) -> Iterator[tuple[int, int]]:
        """Every pronoun of GAP with its name, anywhere in the sentence."""
        for mention, row in enumerate(heads.rows):
            same = heads.entity == heads.entity[mention]
            for name in np.flatnonzero(same & (heads.rows // 3 == row // 3) & (heads.rows != row) & (row % 3 == 0)):
                yield mention, int(name)


def head_word(
    first: NDArray[np.integer], stop: NDArray[np.integer], governor: NDArray[np.integer], begin: int, end: int
) -> int | None:
    """The first word of a mention with a governor outside of the mention; where no governor is known, the last word.

    Parameters
    ----------
    first, stop, governor
        First character, character after the last, and governor of the words of the sentence: (word,).
    begin, end
        Characters of the mention.

    Returns
    -------
    Index of the word in the sentence; None where the mention was cut off with its sentence.
    """
    inside = (first < end) & (stop > begin)
    if not inside.any() or stop[inside].max() < end:
        return None
    above = (governor >= 0) & inside[np.maximum(governor, 0)]
    heads = np.flatnonzero(inside & (governor != NO_GOVERNOR) & ~above)
    return int(heads[0] if len(heads) else np.flatnonzero(inside)[-1])
