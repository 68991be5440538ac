"""Heads switched off or replaced in a sample of the corpus: the change of sentence vectors, and the pairs that later heads still link.

Page Sentence, tab Role and the command `headscape replace` share the words for the numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.sentence.change import NO_CHANGE, Change, sentence_vector
from dashboard.sentence.encoder import UNLIKE
from dashboard.sentence.sentence import Sentence
from dashboard.ui.text import decimal, in_interval
from dashboard.web.errors import Refusal
from dashboard.web.state import Instead
from store import Corpus
from store.kernels.intervals import draw_counts
from store.kernels.relations import StrongestWords, WordPairs, linked, strongest_words, word_pattern, word_tokens
from store.kernels.replacement import LabelScores, VectorChange, choose_hidden
from store.phrases import many
from store.replacement import SENTENCES, Heads, RulePatterns, RuleReader, judged_sentences, mean_patterns
from store.repository.errors import NotIngested
from store.text import match_labels

#: Least number of word pairs of a listed relation.
FEWEST_PAIRS = 10
AS_IT_IS, CHANGED = "Encoding with all heads", "Encoding with changed heads"
#: A function that gets the share that is done, 0 to 1, and the present step; it raises when nobody waits any more.
Watch = Callable[[float, str | None], None]
#: A function that encodes a text of the corpus by a model with changed heads.
Encode = Callable[[str, Change], Sentence]
_SPEARMAN = "Spearman's correlation of the cosines of all pairs of sentences before and after: 1 is the same order."
_LINKS = (
    "Of each relation of grammar the later head that links most pairs, chosen on the other half of the sentences: how many of the "
    "pairs it links before and after. Later heads are above a replaced one and not replaced themselves."
)
_HIDDEN = (
    "15% of the wordpieces of each sentence are hidden from the model, always the same ones (Devlin et al. 2019). The loss is -ln of the "
    "probability of the right one. Rules do not see them either, but the grammar of the whole sentence."
)


class LinkChange(NamedTuple):
    """Shares of a relation's `pairs` word pairs that the best later head links before and after."""

    relation: str
    layer: int
    head: int
    direction: str
    pairs: int
    before: float
    after: float


class LabelChange(NamedTuple):
    """The answers of a classifier before and after.

    Attributes
    ----------
    same
        Share of all sentences with the same answer.
    labelled
        Number of sentences with a label that the classifier knows: the scores count these. 0 for data without labels.
    before, after
        Scores; None without labels.
    """

    same: float
    labelled: int
    before: LabelScores | None
    after: LabelScores | None


class HiddenChange(NamedTuple):
    """Mean loss over hidden wordpieces before and after: -ln of the probability of the right wordpiece, in nats."""

    wordpieces: int
    before: float
    after: float


@dataclass(frozen=True)
class SampleChange:
    """The changes in a sample.

    Attributes
    ----------
    heads, instead
        Layer and head of each changed head, and what they do instead.
    wanted, sentences
        Numbers of requested sentences, and of sentences in the sample.
    vectors
        The change of the sentence vectors.
    interval
        95% interval of the mean change of sentence vectors, by bootstrap over sentences.
    links
        A change for each relation; empty where no head is later, or the corpus has no words or relations.
    labels
        The change of answers; None where the model is no classifier.
    hidden
        The change of the loss of hidden wordpieces; None where the model predicts no wordpieces.
    """

    heads: tuple[tuple[int, int], ...]
    instead: Instead
    wanted: int
    sentences: int
    vectors: VectorChange
    interval: tuple[float, float]
    links: tuple[LinkChange, ...]
    labels: LabelChange | None
    hidden: HiddenChange | None

    @property
    def linked(self) -> tuple[int, float, float]:
        """Number of pairs of all relations, and the shares that later heads link before and after; NaN without pairs."""
        pairs = np.array([link.pairs for link in self.links])
        shares = [np.array([getattr(link, side) for link in self.links]) for side in ("before", "after")]
        before, after = (float(pairs @ share / pairs.sum()) if len(pairs) else np.nan for share in shares)
        return int(pairs.sum()), before, after

    def labelled(self) -> xr.Dataset:
        """The numbers by name; the numbers of links by relation."""
        names = LinkChange._fields[1:]
        columns = {name: ("relation", [getattr(link, name) for link in self.links]) for name in names}
        pairs, before, after = self.linked
        vectors = self.vectors
        arrays: dict[str, Any] = {
            "change": vectors.mean,
            "interval": ("bound", list(self.interval)),
            "distance": vectors.distance,
            "share": vectors.share,
            "spearman": vectors.spearman,
            "nearest": vectors.nearest,
            "linked": ("when", [before, after]),
            **columns,
        }
        if self.labels is not None:
            arrays["same_answer"] = self.labels.same
            for score in LabelScores._fields:
                sides = (self.labels.before, self.labels.after)
                arrays[score] = ("when", [np.nan if side is None else getattr(side, score) for side in sides])
        if self.hidden is not None:
            arrays["hidden_loss"] = ("when", [self.hidden.before, self.hidden.after])
        relations = np.array([link.relation for link in self.links], np.str_)
        labels = {"relation": relations, "bound": ["low", "high"]}
        heads = ".".join(f"{layer}-{head}" for layer, head in self.heads)
        told = {"heads": heads, "instead": self.instead, "sentences": self.sentences, "linked_pairs": pairs}
        if self.hidden is not None:
            told["hidden_wordpieces"] = self.hidden.wordpieces
        return xr.Dataset(arrays, labels | {"when": ["before", "after"]}, told)


@dataclass(frozen=True)
class EncodedSample:
    """Results of a sample that a model has encoded.

    Attributes
    ----------
    vector
        Mean of the last layer over words: (sentence, feature).
    strongest
        Strongest words of all words in the sample, sentence after sentence: (layer, head, word); None in a corpus without words.
    answer, answers
        Logits of a classifier (sentence, label), and the names of its labels; None and empty for other models.
    hidden_loss
        Loss in nats, summed over the hidden wordpieces of a sentence: (sentence,); None for a model that predicts no wordpieces.
    """

    vector: NDArray[np.float64]
    strongest: StrongestWords | None
    answer: NDArray[np.float32] | None
    answers: tuple[str, ...]
    hidden_loss: NDArray[np.float64] | None


class Steps:
    """Counts the steps of a measurement and tells the progress to its watch."""

    def __init__(self, watch: Watch, total: int) -> None:
        self._watch, self._total, self._done = watch, total, 0

    def begin(self, title: str) -> None:
        """Begin the next step."""
        self._watch(self._done / self._total, title)
        self._done += 1


class Sampling:
    """A sample of a corpus, encoded by the corpus' model with all heads, or with some heads replaced.

    Parameters
    ----------
    encode
        Runs the model.
    wanted
        Number of requested sentences; the sample may have fewer.
    """

    def __init__(self, corpus: Corpus, encode: Encode, wanted: int = SENTENCES) -> None:
        self.corpus, self.wanted, self._encode = corpus, wanted, encode
        self.sentences = judged_sentences(corpus, wanted)
        if not len(self.sentences):
            raise Refusal("No sentence of the sample has a word. Ingest other data.", 404)
        self._seed = int(corpus.attributes["provenance"]["settings"]["seed"])
        generator, flags = np.random.default_rng(self._seed & (1 << 64) - 1), corpus.tokens.token_flags.values
        #: Sentence -> positions of its hidden wordpieces; empty once the model is known to predict no wordpieces.
        self.hidden: dict[int, tuple[int, ...]] = {
            index: tuple(choose_hidden(flags[corpus.sentence_rows(index)], generator).tolist())
            for index in self.sentences.tolist()
        }

    @cached_property
    def _rules(self) -> RuleReader:
        return RuleReader(self.corpus, self.sentences)

    def as_it_is(self, watch: Watch) -> EncodedSample:
        """The sample encoded by the model with all heads."""
        steps = Steps(watch, len(self.sentences))
        return self._encoded(lambda _: NO_CHANGE, AS_IT_IS, steps)

    def changed(self, heads: Heads, instead: Instead, watch: Watch) -> EncodedSample:
        """The sample encoded by the model with replaced heads; `NotIngested` for replacement by rules in a store without rules."""
        steps = Steps(watch, len(self.sentences) + (len(heads) if instead == "rule" else 0))
        return self._encoded(self._change(heads, instead, steps), CHANGED, steps)

    def measure(self, heads: Heads, instead: Instead, watch: Watch) -> SampleChange:
        """The changes where heads are switched off or replaced."""
        before = self.as_it_is(lambda share, title: watch(share / 2, title))
        after = self.changed(heads, instead, lambda share, title: watch((1 + share) / 2, title))
        return self.compare(before, after, heads, instead)

    def compare(self, before: EncodedSample, after: EncodedSample, heads: Heads, instead: Instead) -> SampleChange:
        """The changes from the sample with all heads to the sample with replaced heads."""
        vectors = VectorChange.of(before.vector, after.vector)
        interval = vectors.interval(draw_counts(self._seed, 0, len(self.sentences)))
        links = self._links(before, after, Change(tuple(heads)))
        found = (vectors, interval, links, self._labels(before, after), self._hidden(before, after))
        return SampleChange(tuple(heads), instead, self.wanted, len(self.sentences), *found)

    def _change(self, heads: Heads, instead: Instead, steps: Steps) -> Callable[[int], Change]:
        """A function from a sentence to the change of the model. Rules do not see hidden wordpieces."""
        own, corpus = tuple(heads), self.corpus
        if instead == "rule":
            rules = RulePatterns(self._rules, heads, steps.begin)

            def by_rules(index: int) -> Change:
                unseen = rules.patterns(index, self.hidden[index]).tobytes() if self.hidden else b""
                return Change(own, instead, rules.patterns(index).tobytes(), unseen=unseen)

            return by_rules
        if instead == "mean":
            flags, rows = corpus.tokens.token_flags.values, corpus.sentence_rows
            return lambda index: Change(own, instead, mean_patterns(corpus, heads, flags[rows(index)]).tobytes())
        return lambda _: Change(own, instead, masks=corpus.masks)

    def _encoded(self, change: Callable[[int], Change], title: str, steps: Steps) -> EncodedSample:
        vectors: list[NDArray[np.float64]] = []
        strongest: list[StrongestWords] = []
        answer: list[NDArray[np.float32]] = []
        answers: tuple[str, ...] = ()
        losses: list[float | None] = []
        for index in self.sentences.tolist():
            steps.begin(title)
            asked = replace(change(index), hidden=self.hidden.get(index, ()))
            sentence = self._encode(str(self.corpus.sentences.text.values[index]), asked)
            if list(sentence.wordpieces) != self.corpus.wordpieces(self.corpus.sentence_rows(index)):
                raise Refusal(UNLIKE)
            vectors.append(sentence_vector(sentence))
            losses.append(sentence.hidden_loss)
            if sentence.hidden_loss is None:
                self.hidden = {}
            answers = sentence.answers
            if sentence.answer is not None and answers:
                answer.append(sentence.answer)
            if self.corpus.has_words:
                strongest.append(self._strongest(index, sentence))
        joined = (np.concatenate(each, axis=-1) for each in zip(*strongest, strict=True))
        words = StrongestWords(*joined) if strongest else None
        known = None if None in losses else np.array(losses, np.float64)
        return EncodedSample(np.stack(vectors), words, np.stack(answer) if answer else None, answers, known)

    def _strongest(self, index: int, sentence: Sentence) -> StrongestWords:
        """The strongest words of each word of a sentence: (layer, head, word)."""
        words = self.corpus.words
        start, stop = (words.table[name].values[words.rows(index)] for name in ("token_start", "token_stop"))
        pattern = sentence.pattern
        layers, heads, tokens = pattern.shape[:3]
        if not len(start):
            nothing = np.zeros((layers, heads, 0), np.int16)
            return StrongestWords(nothing, nothing)
        covers = word_tokens(start, stop, tokens)[None]
        between = word_pattern(pattern.reshape(-1, 1, tokens, tokens), covers)
        found = strongest_words(between, np.ones((1, len(start)), bool))
        return StrongestWords(*(each.reshape(layers, heads, -1) for each in found))

    def _hidden(self, before: EncodedSample, after: EncodedSample) -> HiddenChange | None:
        if before.hidden_loss is None or after.hidden_loss is None:
            return None
        wordpieces = sum(map(len, self.hidden.values()))
        means = (float(losses.sum()) / wordpieces for losses in (before.hidden_loss, after.hidden_loss))
        return HiddenChange(wordpieces, *means)

    def _labels(self, before: EncodedSample, after: EncodedSample) -> LabelChange | None:
        if before.answer is None or after.answer is None:
            return None
        both = before.answer, after.answer
        own, other = (logits.argmax(axis=1) for logits in both)
        same, right = float((own == other).mean()), match_labels(before.answers, self.corpus.label_names)
        labels = self.corpus.sentences.label.values[self.sentences]
        known = labels >= 0
        if right is None or not known.any():
            return LabelChange(same, 0, None, None)
        scores = (LabelScores.of(logits[known], right[labels[known]]) for logits in both)
        return LabelChange(same, int(known.sum()), *scores)

    def _links(self, before: EncodedSample, after: EncodedSample, change: Change) -> tuple[LinkChange, ...]:
        later = np.array(
            [[change.is_later(layer, head) for head in range(self.corpus.heads)] for layer in range(self.corpus.layers)]
        )
        if before.strongest is None or after.strongest is None or not later.any():
            return ()
        try:
            accuracy = self.corpus.relations.chosen_accuracy
        except NotIngested:
            return ()
        found = []
        for relation, pairs in self._pairs().items():
            if relation not in accuracy.relation or len(pairs.source) < FEWEST_PAIRS:
                continue
            scores = np.where(later, accuracy.sel(relation=relation).fillna(0).values, -1)
            direction, layer, head = (int(each) for each in np.unravel_index(scores.argmax(), scores.shape))
            shares = (
                linked(each, pairs)[direction, layer, head].mean() for each in (before.strongest, after.strongest)
            )
            name = str(accuracy.direction.values[direction])
            found.append(LinkChange(relation, layer, head, name, len(pairs.source), *map(float, shares)))
        return tuple(found)

    def _pairs(self) -> dict[str, WordPairs]:
        """Pairs of each relation in the sample; words are numbered through the sample, sentence after sentence."""
        words = self.corpus.words
        rows = np.concatenate([np.arange(len(words))[words.rows(index)] for index in self.sentences.tolist()])
        place = np.full(len(words), -1, np.int64)
        place[rows] = np.arange(len(rows))
        within = {name: pairs.only(place[pairs.source] >= 0) for name, pairs in words.relations.items()}
        return {
            name: pairs._replace(source=place[pairs.source], target=place[pairs.target])
            for name, pairs in within.items()
        }


class NumberRow(NamedTuple):
    """A row of a table: title, number, and the explanation behind an (i)."""

    title: str
    number: str
    about: str = ""


def number_rows(found: SampleChange) -> list[NumberRow]:
    """The rows of all numbers of a sample that are known."""
    vectors, (low, high) = found.vectors, found.interval
    rows = [
        NumberRow("sentences", f"{found.sentences:,} of {found.wanted:,}"),
        NumberRow(
            "change of the sentence vector (1 − cosine, 95% interval)",
            f"{vectors.mean:.4f}{in_interval(low, high, 4)}",
        ),
    ]
    if found.sentences > 1:
        rows += [
            NumberRow("1 − cosine of two different sentences", f"{vectors.distance:.3f}"),
            NumberRow("change as a share of the distance between two sentences", f"{100 * vectors.share:.2f}%"),
            NumberRow("order of similarities", decimal(vectors.spearman, 3), _SPEARMAN),
            NumberRow("same nearest sentence", f"{100 * vectors.nearest:.0f}%"),
        ]
    pairs, before, after = found.linked
    if pairs:
        linked = f"{100 * before:.1f}% before, {100 * after:.1f}% after"
        rows.append(NumberRow(f"of {many(pairs, 'pair')} of words, linked by later heads", linked, _LINKS))
    if found.hidden:
        title = f"mean loss of {many(found.hidden.wordpieces, 'hidden wordpiece')} in nats"
        rows.append(NumberRow(title, f"{found.hidden.before:.3f} before, {found.hidden.after:.3f} after", _HIDDEN))
    else:
        rows.append(NumberRow("mean loss of hidden wordpieces", "none: the model predicts no hidden wordpieces"))
    return [*rows, *(_label_rows(found.labels) if found.labels else [])]


def _label_rows(labels: LabelChange) -> list[NumberRow]:
    rows = [NumberRow("same answer of the classifier", f"{labels.same:.0%}")]
    if (own := labels.before) and (other := labels.after):
        right = f"{own.accuracy:.1%} before, {other.accuracy:.1%} after"
        rows.append(NumberRow(f"right answers of {labels.labelled:,}", right))
        rows.append(NumberRow("mean loss in nats", f"{own.loss:.3f} before, {other.loss:.3f} after"))
    return rows
