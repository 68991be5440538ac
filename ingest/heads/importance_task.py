"""The task that head importance is measured on: predict masked wordpieces, or labels."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.encode.batches import Batch, make_batches
from ingest.run.errors import IngestError
from ingest.text.blocks import Block, content_hash
from store.schema.corpus import NO_WORD

#: Share of a sentence's wordpieces that are hidden (Devlin et al. 2019, section 3.1); at least one.
MASKED = 0.15
#: What a classifier without names calls its outputs.
NUMBER = re.compile(r"(LABEL_)?\d+")
#: This token has no answer.
NO_ANSWER = -1


@dataclass(frozen=True)
class ImportanceTask:
    """Sentences as the model reads them, and the right answer per token (token,): a wordpiece or a label."""

    kind: str
    block: Block
    answer: NDArray[np.int64]

    @property
    def answers(self) -> int:
        """How many tokens have an answer."""
        return int((self.answer != NO_ANSWER).sum())

    def batches(self, *, tokens: int) -> list[tuple[Batch, NDArray[np.int64]]]:
        """Sentences of like length, and their answers: (sentence, token)."""
        return [(batch, self._padded(batch)) for batch in make_batches(self.block, tokens=tokens)]

    def content_hash(self, identity: Mapping[str, Any]) -> int:
        """Hash of everything the loss depends on."""
        return content_hash(dict(identity) | {"kind": self.kind}, self.block.lengths, self.block.token_ids, self.answer)

    def _padded(self, batch: Batch) -> NDArray[np.int64]:
        answers = np.full(batch.real.shape, NO_ANSWER, np.int64)
        answers[batch.real] = self.answer[batch.rows]
        return answers


def masked_task(sentences: Block, *, mask_id: int, seed: int) -> ImportanceTask:
    """Predict masked wordpieces, some of every sentence."""
    hidden = choose_hidden(sentences, seed=seed)
    answer = np.where(hidden, sentences.token_ids, NO_ANSWER).astype(np.int64)
    token_ids = np.where(hidden, mask_id, sentences.token_ids).astype(np.int32)
    return ImportanceTask("mlm", replace(sentences, token_ids=token_ids), answer)


def label_task(sentences: Block, labels: NDArray[np.integer]) -> ImportanceTask:
    """Predict the label of every sentence at its [CLS]."""
    answer = np.full(sentences.tokens, NO_ANSWER, np.int64)
    answer[np.cumsum(sentences.lengths) - sentences.lengths] = labels
    return ImportanceTask("classification", sentences, answer)


def choose_hidden(sentences: Block, *, seed: int) -> NDArray[np.bool_]:
    """Mask of the hidden wordpieces (token,); more sentences leave those of the first ones as they are."""
    generator = np.random.default_rng(seed & (1 << 64) - 1)
    ordinary = (sentences.token_flags & NO_WORD) == 0
    hidden = np.zeros(len(ordinary), bool)
    for stop, size in zip(np.cumsum(sentences.lengths), sentences.lengths, strict=True):
        own = stop - size + np.flatnonzero(ordinary[stop - size : stop])
        hidden[generator.permutation(own)[: max(1, round(MASKED * len(own)))]] = True
    return hidden


def held_out(candidates: NDArray[np.integer], *, after: int, count: int) -> NDArray[np.integer]:
    """The `count` sentences after the first `after`; the last `count` where there are too few."""
    start = min(int(np.searchsorted(candidates, after)), len(candidates) - count)
    return candidates[max(0, start) :][:count]


def label_outputs(config: Mapping[str, Any], names: Sequence[str]) -> NDArray[np.int64]:
    """Which of a classifier's outputs stands for each label of the data: by name; by number where the names are numbers.

    Raises
    ------
    IngestError
        Where the data has other labels than the classifier, or none.
    """
    if not names:
        raise IngestError(
            "The model is a classifier and the data has no labels. Name their column with --label=..., or leave --importance out."
        )
    named = config.get("id2label") or {0: "LABEL_0", 1: "LABEL_1"}
    outputs = {int(number): str(name) for number, name in named.items()}
    by_name = {name.lower(): number for number, name in outputs.items()}
    if all(name.lower() in by_name for name in names):
        return np.array([by_name[name.lower()] for name in names])
    if len(names) == len(outputs) and all(NUMBER.fullmatch(name) for name in outputs.values()):
        return np.arange(len(names))
    raise IngestError(
        f"The classifier knows {len(outputs)} labels ({', '.join(outputs.values())}), the data has {len(names)} "
        f"({', '.join(names)}). Give data with the classifier's labels, or leave --importance out."
    )
