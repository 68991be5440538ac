"""A second implementation of relations between words: in float64, from transformers' eager attentions and from the treebank.

The module shares no code with store.kernels and ingest.words, which it checks.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import networkx
import numpy as np
import torch
import transformers
from numpy.typing import NDArray

ROOT, UNKNOWN = -1, -2
FARTHEST = 10

Weights = NDArray[np.float64]


class BankWord(NamedTuple):
    """A word of a treebank: its characters in the text, the index of its governor or `ROOT`, and its label."""

    start: int
    stop: int
    governor: int
    relation: str


@dataclass(frozen=True)
class ReferenceSentence:
    """Attention between the words of a sentence (layer, head, word, word), and the grammar of each word.

    A governor is an index in the sentence, `ROOT`, or `UNKNOWN` where it was cut off.
    """

    pattern: Weights
    governor: list[int]
    relation: list[str]


# -- the treebank ---------------------------------------------------------------------------------


def read_bank(path: Path) -> dict[str, list[BankWord]]:
    """Words of every sentence by its text; the first sentence of equal texts."""
    found: dict[str, list[BankWord]] = {}
    for block in path.read_text("utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        if rows:
            given = [line[len("# text =") :] for line in block.splitlines() if line.startswith("# text =")]
            text = " ".join(given[0].split()) if given else _joined(rows)
            found.setdefault(text, _placed(text, rows))
    return found


def _surface(rows: list[list[str]]) -> Iterator[tuple[list[list[str]], str, str]]:
    """Surface tokens of a sentence: the rows of a token's words, its spelling and its last column."""
    words = [row for row in rows if row[0].isdecimal()]
    spans = {int(row[0].split("-")[0]): row for row in rows if "-" in row[0]}
    number = 1
    while number <= len(words):
        row = spans.get(number, words[number - 1])
        last = int(row[0].split("-")[-1])
        yield words[number - 1 : last], row[1], row[9]
        number = last + 1


def _joined(rows: list[list[str]]) -> str:
    return "".join(form + " " * ("SpaceAfter=No" not in misc) for _, form, misc in _surface(rows)).rstrip()


def _placed(text: str, rows: list[list[str]]) -> list[BankWord]:
    """Words in the order of the text. Words that do not spell their token have all its characters."""
    words: list[BankWord] = []
    place = 0
    for parts, form, _ in _surface(rows):
        start = text.find(form, place)
        stop = place = start + len(form)
        divides = "".join(part[1] for part in parts) == form
        for part in parts:
            end = start + len(part[1]) if divides else stop
            words.append(BankWord(start, end, int(part[6]) - 1, part[7]))
            start = end if divides else start
    return words


# -- attention between words ----------------------------------------------------------------------


def eager_model(folder: Path) -> Any:
    """The checkpoint's model by transformers in float64, with the slow attention that returns patterns."""
    return transformers.AutoModel.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float64, add_pooling_layer=False
    ).eval()


def sentence_reader(folder: Path, *, max_length: int) -> Callable[[str, Sequence[BankWord]], ReferenceSentence]:
    """A function that runs a checkpoint on a text with given words."""
    model, tokenizer = eager_model(folder), transformers.AutoTokenizer.from_pretrained(folder)

    def read(text: str, words: Sequence[BankWord]) -> ReferenceSentence:
        encoded = tokenizer(text, truncation=True, max_length=max_length, return_offsets_mapping=True)
        with torch.no_grad():
            ids = torch.tensor([encoded["input_ids"]])
            pattern = torch.cat(model(ids, output_attentions=True).attentions).numpy()
        return of_words(pattern, [covered(word, encoded["offset_mapping"]) for word in words], words)

    return read


def covered(word: BankWord, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Wordpieces that share a character with a word; `spans` are the characters of each wordpiece."""
    return [piece for piece, (start, stop) in enumerate(spans) if start < word.stop and word.start < stop]


def of_words(pattern: Weights, groups: list[list[int]], words: Sequence[BankWord]) -> ReferenceSentence:
    """Attention between words with wordpieces: summed over the wordpieces of the attended word, averaged over the attending.

    The pattern is (layer, head, token, token); `groups` are the wordpieces of every word.
    """
    kept = [word for word, group in enumerate(groups) if group]
    to_word = np.stack([pattern[..., groups[word]].sum(axis=-1) for word in kept], axis=-1)
    between = np.stack([to_word[..., groups[word], :].mean(axis=-2) for word in kept], axis=-2)
    number = {old: new for new, old in enumerate(kept)} | {ROOT: ROOT}
    governors = [number.get(words[word].governor, UNKNOWN) for word in kept]
    return ReferenceSentence(between, governors, [words[word].relation for word in kept])


def without_own(pattern: Weights) -> Weights:
    """The pattern with -1 between a word and itself."""
    others = pattern.copy()
    own = np.arange(pattern.shape[-1])
    others[..., own, own] = -1
    return others


# -- relations ------------------------------------------------------------------------------------


def pairs_of(sentence: ReferenceSentence) -> Iterator[tuple[int, int, str]]:
    """Every dependent, its governor and the label, without punctuation and roots."""
    for word, (governor, relation) in enumerate(zip(sentence.governor, sentence.relation, strict=True)):
        if governor >= 0 and relation.lower() not in ("punct", "root", ""):
            yield word, governor, relation


def link_counts(sentences: Sequence[ReferenceSentence]) -> tuple[Counter[str], dict[str, NDArray[np.int64]]]:
    """Pairs of each label, and linked pairs of each head: (forward, backward, received; layer, head)."""
    count: Counter[str] = Counter()
    links: dict[str, NDArray[np.int64]] = {}
    for sentence in sentences:
        others = without_own(sentence.pattern)
        for word, governor, relation in pairs_of(sentence):
            hits = (
                others[..., word, :].argmax(-1) == governor,
                others[..., governor, :].argmax(-1) == word,
                others[..., :, word].argmax(-1) == governor,
            )
            count[relation] += 1
            links[relation] = links.get(relation, 0) + np.stack(hits).astype(np.int64)
    return count, links


def offset_counts(sentences: Sequence[ReferenceSentence]) -> dict[str, Counter[int]]:
    """Number of pairs of each label by their distance in words, at most ten."""
    found: dict[str, Counter[int]] = {}
    for sentence in sentences:
        for word, governor, relation in pairs_of(sentence):
            if abs(governor - word) <= FARTHEST:
                found.setdefault(relation, Counter())[governor - word] += 1
    return found


# -- governors ------------------------------------------------------------------------------------


def is_tree(sentence: ReferenceSentence) -> bool:
    """Whether all governors of at least two words are known, and one word is the root."""
    return len(sentence.governor) > 1 and sentence.governor.count(ROOT) == 1 and UNKNOWN not in sentence.governor


def right_each(sentence: ReferenceSentence) -> NDArray[np.int64]:
    """Number of governors that each head finds for each word alone, without punctuation: (direction, layer, head).

    The first direction is read from the word to its governor, the second from the governor to the word.
    """
    others = without_own(sentence.pattern)
    found = np.stack([others.argmax(axis=-1), others.argmax(axis=-2)])
    counted = np.array([relation.lower() != "punct" for relation in sentence.relation])
    return ((found == np.array(sentence.governor)) & counted).sum(axis=-1)


def tree_governors(weights: Weights) -> list[int]:
    """Governors of the spanning tree with the largest product of weights (word, governor) and one root."""
    graph = networkx.DiGraph()
    for word, governor in np.argwhere(~np.eye(len(weights), dtype=bool)).tolist():
        graph.add_edge(governor, word, weight=float(np.log(weights[word, governor])))
    tree = networkx.maximum_spanning_arborescence(graph)
    return [next(iter(tree.predecessors(word)), ROOT) for word in range(len(weights))]


def right_tree(sentence: ReferenceSentence, cell: tuple[int, int, int]) -> int:
    """Number of governors that the spanning tree of one head finds; `cell` is the head's place in `right_each`."""
    direction, layer, head = cell
    weights = sentence.pattern[layer, head]
    found = tree_governors(weights.T if direction else weights)
    return sum(
        governor == right and relation.lower() != "punct"
        for governor, right, relation in zip(found, sentence.governor, sentence.relation, strict=True)
    )


def head_uas(sentences: Sequence[ReferenceSentence]) -> dict[str, float]:
    """UAS on odd sentences, by both decodings, of the head that finds most governors in even sentences."""
    chosen, reported = ([each for each in sentences[half::2] if is_tree(each)] for half in (0, 1))
    right = sum(map(right_each, chosen))
    cell: Any = np.unravel_index(int(np.argmax(right)), np.shape(right))
    words = sum(relation.lower() != "punct" for each in reported for relation in each.relation)
    return {
        "each": sum(int(right_each(each)[cell]) for each in reported) / words,
        "tree": sum(right_tree(each, cell) for each in reported) / words,
    }
