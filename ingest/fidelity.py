"""Judge a view: how well distance on screen tells attention, head by head, on sentences the fit has not seen."""

import numpy as np
from numpy.typing import NDArray

from ingest.corpus import PlannedCorpus
from ingest.progress import bar
from ingest.tensors import ModelGroup
from store.groups import array_of
from store.kernels.attention import attention_pattern
from store.kernels.fidelity import recall, screen_distance, spearman
from store.schema import ROLES
from store.writer import Writer

JUDGED_SENTENCES = 100
RECALL_KEYS = 3


def judge_view(writer: Writer, path: str, model: ModelGroup, corpus: PlannedCorpus, *, fitted: int) -> None:
    """Write the fidelity of every head: mean over the sentences after the `fitted` first, or the last where none are left."""
    group, source = writer.group(path), writer.group(model.path)
    held_out = fitted < corpus.sentences
    first = fitted if held_out else max(0, corpus.sentences - JUDGED_SENTENCES)
    spans = _spans(corpus)[first : first + JUDGED_SENTENCES]
    rows = slice(int(spans[0, 0]), int(spans[-1, 1]))
    layers = array_of(source, "query").shape[0]
    with bar("fidelity", total=layers, unit="layers") as progress:
        for layer in range(layers):
            query, key = (np.asarray(array_of(source, name)[layer, :, rows]).astype(np.float32) for name in ROLES)
            coordinates = np.asarray(array_of(group, "coordinates")[layer, :, :, rows])
            array_of(group, "fidelity")[:, layer] = judge_layer(query, key, coordinates, spans - rows.start)
            progress.update()
    whose = "the fit has not seen" if held_out else "of the fit, as there are no others"
    group.attrs.update({"judged_on": f"{len(spans):,} sentences {whose}", "held_out": held_out})


def judge_layer(
    query: NDArray[np.float32], key: NDArray[np.float32], coordinates: NDArray[np.float32], spans: NDArray[np.int64]
) -> NDArray[np.float64]:
    """`schema.MEASURES` of a layer's heads, mean over sentences: (measure, head).

    `query`, `key` are (head, token, channel), `coordinates` (head, role, token, component), `spans` the sentences' (first row, end).
    """
    total = np.zeros((2, len(query)))
    for start, stop in spans:
        pattern = attention_pattern(query[:, start:stop], key[:, start:stop])
        distance = screen_distance(coordinates[:, 0, start:stop], coordinates[:, 1, start:stop])
        total += np.stack([spearman(pattern, distance), recall(pattern, distance, k=RECALL_KEYS)])
    return total / len(spans)


def _spans(corpus: PlannedCorpus) -> NDArray[np.int64]:
    """First row and end of every sentence on the token axis: (sentence, 2)."""
    starts = [block.rows.start + np.cumsum(block.lengths) - block.lengths for block in corpus.blocks]
    lengths = [block.lengths for block in corpus.blocks]
    return np.stack([np.concatenate(starts), np.concatenate(starts) + np.concatenate(lengths)], axis=-1).astype(
        np.int64
    )
