"""Stage `uas`: the share of governors that are found from attention, by single heads and by trained probes, beside baselines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from zlib import crc32

import numpy as np
import torch
import zarr
from numpy.typing import NDArray

from ingest.encode.hooked_model import HookedModel
from ingest.encode.tensors import ModelGroup
from ingest.run.checkpoint import Checkpoint
from ingest.run.progress import bar
from ingest.text.blocks import Block, PlannedCorpus
from ingest.words.patterns import (
    BlockWords,
    ReadVectors,
    WordBatch,
    content_of_words,
    model_vectors,
    randomize,
    read_words,
    stored_vectors,
    word_batches,
)
from ingest.words.trees import Governors, ProbeSentence, Scores, best_governors, best_tree, scores, train
from store.kernels.intervals import PERCENTILES, REPLICATES
from store.kernels.relations import frequent_offset, halves
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema.corpus import DECODINGS, METHODS, NO_GOVERNOR, ROOT, UAS_ARRAYS
from store.schema.model import BOUNDS
from store.words import Words

VERSION = "uas/1"
#: Sentences that probes are trained on and reported on, at most; and the few of silver annotation, so that every default ingest can
#: train on them: with the default model in 30 seconds on two cores, where a thousand take minutes.
MOST_SENTENCES, FEW_SENTENCES = 1000, 250
SEEDS = (0, 1, 2)
#: Components of the static word embeddings that a probe sees, as many as the GloVe vectors of Clark et al. had.
FEATURES = 100
#: Fewest sentences of a half with which probes are trained.
FEWEST_SENTENCES = 20
#: Score of the root where a single head says nothing of it: below every attention weight.
LOWEST = 1e-9


@dataclass(frozen=True)
class Tree:
    """A sentence whose governors are all known.

    Attributes
    ----------
    sentence, rows
        Index of the sentence, and rows of its words on the word axis.
    governor
        Column of the governor of each word: 0 for the root, else 1 + the word.
    counts
        Mask of the words that count: punctuation does not.
    spelled
        The words in lower case.
    """

    sentence: int
    rows: slice
    governor: NDArray[np.int64]
    counts: NDArray[np.bool_]
    spelled: tuple[str, ...]


def trees_of(words: Words, sentences: int, *, most: int = MOST_SENTENCES) -> dict[int, Tree]:
    """Sentences of at least two words with one root and no unknown governor, by index, at most `most` of each half."""
    left = dict.fromkeys((False, True), most)
    found: dict[int, Tree] = {}
    names = [name.lower() for name in words.names("relation")] + [""]
    word = np.array([name != "punct" for name in names])
    for sentence, reported in enumerate(halves(sentences)):
        rows = words.rows(sentence)
        governor = words.table.governor.values[rows]
        whole = len(governor) > 1 and (governor == ROOT).sum() == 1 and NO_GOVERNOR not in governor
        if whole and left[bool(reported)]:
            left[bool(reported)] -= 1
            counts = word[words.table.relation.values[rows]]
            spelled = tuple(text.lower() for text in words.texts(rows))
            found[sentence] = Tree(sentence, rows, governor.astype(np.int64) + 1, counts, spelled)
        if not any(left.values()):
            break
    return found


def read_sentences(
    trees: dict[int, Tree], words: zarr.Group, corpus: PlannedCorpus, read: Callable[[Block], ReadVectors]
) -> dict[int, ProbeSentence]:
    """Attention between the words of the sentences, without embeddings."""
    found: dict[int, ProbeSentence] = {}
    last = max(trees)
    with bar("probes", total=len(trees), unit="sentences") as progress:
        for block in corpus.blocks:
            if block.first_sentence > last:
                break
            vectors = read(block)
            for batch in word_batches(block, BlockWords.of(words, block)):
                maps = _maps(batch, block, vectors)
                for place, number in enumerate(batch.sentences):
                    tree = trees.get(block.first_sentence + int(number))
                    if tree:
                        found[block.first_sentence + int(number)] = _probe_sentence(maps[:, place], tree)
                        progress.update()
    return found


def _maps(batch: WordBatch, block: Block, read: ReadVectors) -> NDArray[np.float16]:
    """Attention between words, [CLS] and [SEP]: (map, sentence, word, word), the two after the words and their padding."""
    position = np.arange(batch.real_tokens.shape[1])
    ends = np.stack([np.zeros_like(batch.sentences), block.lengths[batch.sentences] - 1], axis=-1)
    covers = np.concatenate([batch.covers, ends[..., None] == position], axis=1)
    layers = [vectors.between(batch, covers) for vectors in read(batch)]
    return np.concatenate(layers).astype(np.float16)


def _probe_sentence(maps: NDArray[np.float16], tree: Tree) -> ProbeSentence:
    words = len(tree.governor)
    attention, special = maps[:, :words, :words].copy(), maps[:, :words, -2:].copy()
    return ProbeSentence(attention, special, tree.governor, np.zeros((words, 0), np.float32))


@dataclass(frozen=True)
class Split:
    """Sentences that probes are trained on and those that are reported on, with their trees in the same order."""

    train: list[ProbeSentence]
    test: list[ProbeSentence]
    train_trees: list[Tree]
    test_trees: list[Tree]

    @classmethod
    def of(cls, sentences: dict[int, ProbeSentence], trees: dict[int, Tree]) -> "Split":
        """Split sentences by the halves of the corpus."""
        parts = ([number for number in sorted(sentences) if number % 2 == half] for half in (0, 1))
        train, test = parts
        return cls(
            [sentences[number] for number in train],
            [sentences[number] for number in test],
            [trees[number] for number in train],
            [trees[number] for number in test],
        )

    def changed(self, change: Callable[[ProbeSentence, Tree], ProbeSentence]) -> "Split":
        """The split with `change` applied to each sentence."""
        return replace(
            self,
            train=list(map(change, self.train, self.train_trees)),
            test=list(map(change, self.test, self.test_trees)),
        )


#: Right words and words that count (sentence,) of each decoding.
Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
Find = Callable[[ProbeSentence], Governors]


def count_right(split: Split, find: Find) -> Counts:
    """Right governors and words of each sentence that is reported on; punctuation does not count, the root does."""
    right = [
        int(((find(sentence) == sentence.governor) & tree.counts).sum())
        for sentence, tree in zip(split.test, split.test_trees, strict=True)
    ]
    return np.array(right), np.array([int(tree.counts.sum()) for tree in split.test_trees])


def best_head(split: Split) -> tuple[int, bool]:
    """The map with most right governors in training sentences, and whether it is read from the governor to the word."""
    maps = len(split.train[0].attention)
    right = np.zeros((2, maps), np.int64)
    for sentence, tree in zip(split.train, split.train_trees, strict=True):
        for turned in (False, True):
            weights = _without_diagonal(_turned(sentence.attention, turned))
            found = np.where(weights.max(axis=-1) > 0, weights.argmax(axis=-1) + 1, 0)  # without a weight, the root
            right[int(turned)] += ((found == sentence.governor) & tree.counts).sum(axis=-1)
    direction, best = np.unravel_index(int(right.argmax()), right.shape)
    return int(best), bool(direction)


def _turned(attention: NDArray[np.float16], turned: bool) -> NDArray[np.float16]:
    return attention.swapaxes(-1, -2) if turned else attention


def _without_diagonal(maps: NDArray[np.float16]) -> NDArray[np.float16]:
    own = np.eye(maps.shape[-1], dtype=bool)
    return np.where(own, np.float16(-1), maps)


def head_scores(sentence: ProbeSentence, head: int, turned: bool) -> NDArray[np.float64]:
    """Scores (word, column) of a single head: logarithms of its weights; it says nothing of the root."""
    weights = _turned(sentence.attention[head], turned).astype(np.float64)
    return np.log(np.concatenate([np.zeros((len(weights), 1)), weights], axis=-1) + LOWEST)


def offset_governors(sentence: ProbeSentence, offset: int) -> Governors:
    """For each word, the word `offset` places further; the root where there is none."""
    words = len(sentence.governor)
    found = np.arange(words) + offset
    return np.where((found >= 0) & (found < words), found + 1, 0)


def training_offset(split: Split) -> int:
    """The most frequent offset of a governor in training sentences."""
    offsets = [
        (sentence.governor - 1 - np.arange(len(sentence.governor)))[tree.counts & (sentence.governor > 0)]
        for sentence, tree in zip(split.train, split.train_trees, strict=True)
    ]
    return frequent_offset(np.concatenate(offsets))


def control_governors(sentence: ProbeSentence, tree: Tree) -> ProbeSentence:
    """Governors by a rule drawn for every spelling: the first word, the last, or the root (Hewitt & Liang 2019, section 2.2).

    The authors' third rule, the word itself, is no governor here; so is a word that is first or last itself, and gets the
    root.
    """
    last = len(tree.spelled)
    targets = np.array([(1, last, 0)[crc32(word.encode()) % 3] for word in tree.spelled])
    own = targets == np.arange(1, last + 1)
    return replace(sentence, governor=np.where(own, 0, targets).astype(np.int64))


def reduced_embeddings(model: HookedModel) -> NDArray[np.float32]:
    """Principal components of the model's static wordpiece embeddings, to a variance of 1: (wordpiece, component)."""
    from sklearn.decomposition import PCA

    table = model.parts.embedding.weight.detach().cpu().numpy()
    components = PCA(min(FEATURES, *table.shape), random_state=0).fit_transform(table)
    return (components / components.std()).astype(np.float32)


@dataclass(frozen=True)
class Measured:
    """Right governors of the sentences reported on, one row for each seed, by method and decoding."""

    right: dict[tuple[str, str], list[NDArray[np.int64]]]
    words: NDArray[np.int64]

    def add(self, method: str, decoding: str, split: Split, find: Find) -> None:
        """Count what a method finds in one way of decoding."""
        self.right.setdefault((method, decoding), []).append(count_right(split, find)[0])

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """`UAS_ARRAYS` without their names; NaN where a method has no such decoding."""
        cells = (len(METHODS), len(DECODINGS))
        of_seed, bounds = np.full((len(SEEDS), *cells), np.nan), np.full((len(BOUNDS), *cells), np.nan)
        drawn = np.random.default_rng(0).multinomial(
            len(self.words), np.full(len(self.words), 1 / len(self.words)), REPLICATES
        )
        for (method, decoding), right in self.right.items():
            cell = list(METHODS).index(method), DECODINGS.index(decoding)
            of_seed[: len(right), *cell] = [counts.sum() / self.words.sum() for counts in right]
            replicates = drawn @ np.mean(right, axis=0) / (drawn @ self.words)
            bounds[:, *cell] = np.percentile(replicates, PERCENTILES)
        return {"of_seed": of_seed, "interval": bounds, "uas": _mean(of_seed)}


def _mean(of_seed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the seeds that have a number; NaN where none has."""
    there = (~np.isnan(of_seed)).sum(axis=0)
    return np.where(there > 0, np.nansum(of_seed, axis=0) / np.maximum(there, 1), np.nan)


def measure(split: Split, embedded: Split, measured: Measured, prefix: str = "", seeds: Sequence[int] = SEEDS) -> None:
    """Measure the best head and both probes of one network; `embedded` is the split with embeddings of words."""
    head, turned = best_head(split)
    for decoding, decide in DECIDE.items():
        scores_of_head = partial(head_scores, head=head, turned=turned)
        measured.add(f"{prefix}best_head", decoding, split, partial(_decide, decide, scores_of_head))
    for method, sentences in (("attention", split), ("attention_and_words", embedded)):
        for seed in seeds:
            find_scores = partial(scores, train(sentences.train, seed))
            for decoding, decide in DECIDE.items():
                found = partial(_decide, decide, find_scores)
                measured.add(f"{prefix}{method}", decoding, sentences, found)


DECIDE: dict[str, Callable[[Scores], Governors]] = {"each": best_governors, "tree": best_tree}


def _decide(
    decide: Callable[[Scores], Governors],
    find_scores: Callable[[ProbeSentence], Scores],
    sentence: ProbeSentence,
) -> Governors:
    return decide(find_scores(sentence))


def measure_controls(split: Split, embedded: Split, measured: Measured) -> None:
    """Measure probes on a task that only a memory of words could solve."""
    for method, sentences in (("control_attention", split), ("control_attention_and_words", embedded)):
        changed = sentences.changed(control_governors)
        measured.add(
            method, "each", changed, partial(_decide, best_governors, partial(scores, train(changed.train, 0)))
        )


def measure_baselines(split: Split, measured: Measured) -> None:
    """Measure governors that need no model."""
    offset = training_offset(split)
    measured.add("best_offset", "each", split, partial(offset_governors, offset=offset))
    measured.add("right_branching", "each", split, partial(offset_governors, offset=1))


def find_uas(
    writer: Writer,
    model: ModelGroup,
    corpus: PlannedCorpus,
    checkpoint: Checkpoint,
    device: torch.device,
    seed: int,
    *,
    few: bool = False,
) -> bool:
    """Bring the numbers of governors up to date; False if there was nothing to do, or if too few sentences have a tree.

    With `few` the numbers are of `FEW_SENTENCES`; numbers of more sentences stay.
    """
    source, group = writer.group(f"corpus/{corpus.key}/words"), writer.group(f"{model.path}/uas")
    versions = [VERSION, f"{VERSION}/few"] if few else [VERSION]
    identities = [content_of_words(writer, model, corpus.blocks, version=version, seed=seed) for version in versions]
    if group.attrs.get("uas_hash") in identities:
        return False
    most = FEW_SENTENCES if few else MOST_SENTENCES
    trees = trees_of(read_words(writer, corpus), corpus.sentences, most=most)
    if min(sum(number % 2 == half for number in trees) for half in (0, 1)) < FEWEST_SENTENCES:
        return False
    hooked = HookedModel(checkpoint, device=device, dtype=torch.float32)
    embed = _embedding(source, corpus, reduced_embeddings(hooked))
    split = Split.of(read_sentences(trees, source, corpus, partial(stored_vectors, writer.group(model.path))), trees)
    measured = Measured({}, count_right(split, lambda each: each.governor)[1])
    measure_baselines(split, measured)
    measure(split, split.changed(embed), measured)
    measure_controls(split, split.changed(embed), measured)
    randomize(hooked.parts.encoder, hooked.config.initializer_range, seed)
    random = Split.of(read_sentences(trees, source, corpus, partial(model_vectors, hooked)), trees)
    measure(random, random.changed(embed), measured, "random_", SEEDS[:1])
    _write(group, measured, split)
    group.attrs.update({"uas_hash": identities[-1], "annotation": dict(source.attrs)["identity"]})
    writer.commit(f"{model.key}: uas")
    return True


def _embedding(
    words: zarr.Group, corpus: PlannedCorpus, embeddings: NDArray[np.float32]
) -> Callable[[ProbeSentence, Tree], ProbeSentence]:
    """A function that gives a sentence the mean embedding of the wordpieces of each word."""
    tokens = np.stack([np.asarray(array_of(words, name)[:]) for name in ("token_start", "token_stop")], axis=-1)
    pieces = np.concatenate([block.token_ids for block in corpus.blocks])
    first = np.concatenate([[0], np.cumsum(np.concatenate([block.lengths for block in corpus.blocks]))])

    def embed(sentence: ProbeSentence, tree: Tree) -> ProbeSentence:
        own = pieces[first[tree.sentence] : first[tree.sentence + 1]]
        vectors = [embeddings[own[start:stop]].mean(axis=0) for start, stop in tokens[tree.rows]]
        return replace(sentence, vector=np.stack(vectors))

    return embed


def _write(group: zarr.Group, measured: Measured, split: Split) -> None:
    names = {"method": list(METHODS), "decoding": list(DECODINGS), "bound": list(BOUNDS)}
    create_arrays(group, UAS_ARRAYS, {name: len(values) for name, values in names.items()} | {"seed": len(SEEDS)})
    for name, values in (names | measured.arrays()).items():
        array_of(group, name)[:] = np.array(values, object if UAS_ARRAYS[name].dtype == "str" else None)
    group.attrs.update(
        {"trained_on": len(split.train), "reported_on": len(split.test), "words": int(measured.words.sum())}
    )
