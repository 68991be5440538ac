"""Dependency trees from scores of governors, and probes that find the governor of a word from the attention of all heads (Clark et al. 2019, section 5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Scores = NDArray[np.floating]
Governors = NDArray[np.intp]

#: Column of the root in scores; governors follow it.
ROOT_COLUMN = 0
EPOCHS, RATE, SENTENCES_AT_ONCE = 20, 0.01, 32


def best_governors(scores: Scores) -> Governors:
    """Column of the governor with the largest score of each word, each word by itself: (word,).

    Parameters
    ----------
    scores
        (word, column), the column of the root first, then one for each word. A word is never its own governor; all other
        scores are finite.
    """
    return _without_self(scores).argmax(axis=-1)


def best_tree(scores: Scores) -> Governors:
    """Governors of the spanning tree with one root and the largest sum of scores (Chu & Liu 1965, Edmonds 1967).

    Shapes are as of `best_governors`. The root costs more than any choice of other governors can win back, so that the best tree has
    one root (Stanojević & Cohen 2021, "A root of a problem", section 3).
    """
    square = np.full((len(scores) + 1, len(scores) + 1), -np.inf)
    square[1:] = _without_self(scores)
    square[1:, ROOT_COLUMN] -= (len(scores) + 1.0) * (1.0 + np.ptp(square[np.isfinite(square)]))
    return _spanning_tree(square)[1:]


def _without_self(scores: Scores) -> Scores:
    own = np.eye(len(scores), scores.shape[1], k=1, dtype=bool)
    return np.where(own, -np.inf, scores)


def _spanning_tree(square: Scores) -> Governors:
    """Governors (node,) of the best tree from node 0; `square` is (node, governor), and no node governs itself.

    Every node takes its best governor. A cycle among these becomes one node, the tree of the smaller square is found in
    the same way, and the node by which that tree enters the cycle leaves its governor within the cycle.
    """
    governors = square.argmax(axis=1)
    governors[0] = 0
    cycle = _first_cycle(governors)
    if not len(cycle):
        return governors
    outside = np.setdiff1d(np.arange(len(square)), cycle)
    from_cycle = square[np.ix_(outside, cycle)]
    into_cycle = square[np.ix_(cycle, outside)] - square[cycle, governors[cycle], None]
    smaller = np.full((len(outside) + 1, len(outside) + 1), -np.inf)
    smaller[:-1, :-1] = square[np.ix_(outside, outside)]
    smaller[:-1, -1], smaller[-1, :-1] = from_cycle.max(axis=1), into_cycle.max(axis=0)
    *rest, entry = _spanning_tree(smaller)
    governed_by_cycle = np.array(rest) == len(outside)
    governors[outside] = np.where(governed_by_cycle, cycle[from_cycle.argmax(axis=1)], np.append(outside, 0)[rest])
    governors[cycle[into_cycle[:, entry].argmax()]] = outside[entry]
    return governors


def _first_cycle(governors: Governors) -> Governors:
    """Nodes of a cycle among the governors (node,), none where there is no cycle. Node 0 ends every path."""
    start_of = np.zeros(len(governors), np.intp)
    for start in range(1, len(governors)):
        node = start
        while node and not start_of[node]:
            start_of[node] = start
            node = governors[node]
        if node and start_of[node] == start:
            return _cycle_through(node, governors)
    return np.array([], np.intp)


def _cycle_through(node: int, governors: Governors) -> Governors:
    cycle = [node]
    while governors[cycle[-1]] != node:
        cycle.append(governors[cycle[-1]])
    return np.array(cycle, np.intp)


@dataclass(frozen=True)
class ProbeSentence:
    """A sentence as a probe sees it, and its right governors.

    Attributes
    ----------
    attention
        (map, word, word) in float16: attention between words, one map per head.
    special
        (map, word, 2): attention of each word to [CLS] and to [SEP].
    governor
        Column of the right governor of each word: (word,).
    vector
        Static embedding of each word: (word, feature); no features for a probe of attention alone.
    """

    attention: NDArray[np.float16]
    special: NDArray[np.float16]
    governor: NDArray[np.int64]
    vector: NDArray[np.float32]


class AttentionProbe(nn.Module):
    """Score of a governor: a weight for each head times the attention in both directions, no bias.

    The score of the root has weights of its own for the attention to [CLS] and to [SEP].
    """

    def __init__(self, maps: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2 * maps) / maps)
        self.special = nn.Parameter(torch.ones(maps, 2) / maps)
        # The weights may depend on both words: with their embeddings this is Clark's probe of attention and words.
        self.dependent, self.governor = (nn.Parameter(torch.zeros(features, 2 * maps)) for _ in range(2))

    def forward(self, attention: Tensor, special: Tensor, vector: Tensor) -> Tensor:
        """Scores (sentence, word, 1 + governor) from arrays (sentence, map or word, ...)."""
        both = torch.cat([attention, attention.transpose(-1, -2)], dim=1)
        scores = torch.einsum("k,skij->sij", self.weight, both)
        root = torch.einsum("kc,skic->si", self.special, special)
        if vector.shape[-1]:
            scores = scores + torch.einsum("sik,skij->sij", vector @ self.dependent, both)
            scores = scores + torch.einsum("sjk,skij->sij", vector @ self.governor, both)
        return torch.cat([root[..., None], scores], dim=-1)


def train(sentences: Sequence[ProbeSentence], seed: int) -> AttentionProbe:
    """A probe trained on the right governors of some sentences; the same for the same seed."""
    order = torch.Generator().manual_seed(seed)
    maps, features = len(sentences[0].attention), sentences[0].vector.shape[-1]
    probe = AttentionProbe(maps, features)
    optimizer = torch.optim.Adam(probe.parameters(), lr=RATE)
    groups = _groups(sentences)
    for _ in range(EPOCHS):
        for number in torch.randperm(len(groups), generator=order).tolist():
            optimizer.zero_grad()
            batch = [sentences[place] for place in groups[number]]
            loss = _loss(probe, batch)
            loss.backward()
            optimizer.step()
    return probe.eval()


def _groups(sentences: Sequence[ProbeSentence]) -> list[list[int]]:
    """Indices of sentences in groups of like length."""
    order = sorted(range(len(sentences)), key=lambda place: len(sentences[place].governor))
    return [order[start : start + SENTENCES_AT_ONCE] for start in range(0, len(order), SENTENCES_AT_ONCE)]


def _loss(probe: AttentionProbe, batch: Sequence[ProbeSentence]) -> Tensor:
    """Cross entropy of the right governors, mean over words."""
    scores = _scores(probe, batch)
    governor = torch.full(scores.shape[:2], -1)
    for row, sentence in zip(governor, batch, strict=True):
        row[: len(sentence.governor)] = torch.from_numpy(sentence.governor)
    return nn.functional.cross_entropy(scores.flatten(0, 1), governor.flatten(), ignore_index=-1)


def _scores(probe: AttentionProbe, batch: Sequence[ProbeSentence]) -> Tensor:
    """Scores (sentence, word, 1 + governor), minus infinity for padding and for the word itself."""
    longest = max(len(sentence.governor) for sentence in batch)
    maps, features = len(batch[0].attention), batch[0].vector.shape[-1]
    attention = torch.zeros(len(batch), maps, longest, longest)
    special = torch.zeros(len(batch), maps, longest, 2)
    vector = torch.zeros(len(batch), longest, features)
    possible = torch.zeros(len(batch), longest, longest + 1, dtype=torch.bool)
    for number, sentence in enumerate(batch):
        words = len(sentence.governor)
        attention[number, :, :words, :words] = torch.from_numpy(sentence.attention)
        special[number, :, :words] = torch.from_numpy(sentence.special)
        vector[number, :words] = torch.from_numpy(sentence.vector)
        possible[number, :, : words + 1] = True
    possible[:, range(longest), range(1, longest + 1)] = False
    return probe(attention, special, vector).masked_fill(~possible, -torch.inf)


def scores(probe: AttentionProbe, sentence: ProbeSentence) -> NDArray[np.float32]:
    """Scores (word, 1 + governor) of one sentence."""
    with torch.inference_mode():
        found: NDArray[np.float32] = _scores(probe, [sentence])[0].numpy()
    return found
