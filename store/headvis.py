"""HeadVis' metrics of attention: layer by layer from stored queries and keys of a corpus, and for another model from its files."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.corpus import Corpus
from store.hypothesis import sentence_vectors
from store.kernels.attention import ROOM, attention_rows
from store.kernels.headvis import METRICS, MetricSums, largest_weight
from store.means import Watch
from store.repository.errors import StoreError, is_integer
from store.schema.model import HEADS

CONFIG, SCATTER = "config.json", "scatter_data.json"
#: Most bytes of a file, most layers or heads of a layer, and most heads: a larger file is not of HeadVis.
MOST_BYTES, MOST_PLACES, MOST_HEADS = 16 << 20, 4_096, 1 << 17
#: Most characters of a name.
LONGEST_NAME = 200
#: Metric -> its name in HeadVis' own skeleton.
ALIASES = {"prev_token_score": "previous_token_score"}
_GIVE = f"Give a folder with {CONFIG} and {SCATTER}, as `headscape export` writes it."


@dataclass(frozen=True, eq=False)
class LayerAttention:
    """Metrics and weights of the heads of a layer in the first sentences.

    Attributes
    ----------
    metrics
        (metric, head) in the order of `METRICS`.
    largest
        Largest weight in each sentence, the first token left out: (head, sentence).
    """

    metrics: NDArray[np.float64]
    largest: NDArray[np.float64]


def read_rows_of_patterns(
    corpus: Corpus, layer: int, sentences: Sequence[int], *, head: int | None = None, room: int = ROOM
) -> Iterator[tuple[int, int, NDArray[np.float32]]]:
    """Rows of the patterns of a layer: sentence, position of the first query, and weights (head, query_token, key_token).

    `sentences` ascend. `head` is the only head that is read; None for all of the layer. `room`: weights at once.
    """
    part = {"layer": slice(layer, layer + 1), "head": slice(None) if head is None else slice(head, head + 1)}
    vectors = {"query": corpus.query.isel(part), "key": corpus.key.isel(part)}
    bias = corpus.bias and corpus.bias.part(layer, head)
    for sentence, _, query, key in sentence_vectors(corpus, vectors, sentences):
        of_queries, of_keys = query.astype(np.float32), key.astype(np.float32)
        for rows, weights in attention_rows(of_queries, of_keys, bias=bias, room=room):
            yield sentence, rows.start, weights


def layer_attention(corpus: Corpus, layer: int, sentences: int, watch: Watch = lambda _: None) -> LayerAttention:
    """Metrics and weights of a layer in the first sentences. `watch` is called with the finished share."""
    sums, largest = MetricSums(corpus.heads), np.zeros((corpus.heads, sentences))
    pieces = corpus.tokens.token_id.values
    for sentence, first, weights in read_rows_of_patterns(corpus, layer, range(sentences)):
        if weights.shape[-1] > 1:  # a sentence of one token does not count
            sums.add(weights, pieces[corpus.sentence_rows(sentence)], first)
            largest[:, sentence] = np.maximum(largest[:, sentence], largest_weight(weights, first))
        watch((sentence + 1) / sentences)
    return LayerAttention(sums.metrics, largest)


def headvis_metrics(corpus: Corpus, sentences: int | None = None, watch: Watch = lambda _: None) -> xr.Dataset:
    """The six metrics of HeadVis for every head (layer, head); `read_headvis` reads them for other models.

    Parameters
    ----------
    corpus
        An opened store.
    sentences
        Number of first sentences that count; None for all with vectors.
    watch
        Called with the finished share, 0 to 1; an error that it raises ends the computation.

    Raises
    ------
    StoreError
        Where no sentence would count.
    """
    if sentences is not None and (not is_integer(sentences) or sentences < 1):
        raise StoreError(f"There are no metrics of {sentences!r} sentences. Give at least 1, a whole number.")
    count = min(sentences or corpus.n_sentences, corpus.n_sentences)
    if int(corpus.sentences.row_size.values[:count].max()) < 2:
        raise StoreError(f"Each of the first {count:,} sentences has a single token. Ingest longer sentences.")
    layers = [layer_attention(corpus, layer, count).metrics for layer in _watched(corpus.layers, watch)]
    return labelled_metrics(np.stack(layers, axis=1), model=corpus.title, sentences=count, snapshot=corpus.snapshot)


def _watched(steps: int, watch: Watch) -> Iterator[int]:
    for step in range(steps):
        watch(step / steps)
        yield step


def labelled_metrics(metrics: NDArray[np.float64], **attributes: str | int) -> xr.Dataset:
    """Metrics (metric, layer, head) as arrays by name, with their meanings."""
    arrays = {name: (HEADS, values, {"meaning": METRICS[name]}) for name, values in zip(METRICS, metrics, strict=True)}
    layers, heads = metrics.shape[1:]
    return xr.Dataset(arrays, {"layer": np.arange(layers), "head": np.arange(heads)}, attributes)


def read_headvis(place: str | Path) -> xr.Dataset:
    """The six metrics of every head (layer, head), NaN where the files have none; attributes: `model`, `data`, `sentences`, `max_length`.

    Parameters
    ----------
    place
        The folder of a tree, or a file of the older format of Neuronpedia, which holds tables of all metrics.

    Raises
    ------
    StoreError
        Where the files are missing, of another format, or have no metric.
    """
    path = Path(place)
    if path.is_file():
        content = _object(_read(path), path)
        config, metrics = _object(content.get("config"), path, "config"), _from_tables(content.get("metrics"), path)
    else:
        if not (path / CONFIG).is_file():
            raise StoreError(f"There is no tree of HeadVis at {path}. {_GIVE}")
        config = _object(_read(path / CONFIG), path / CONFIG)
        metrics = _from_rows(_read(path / SCATTER), path / SCATTER)
    if np.isnan(metrics).all():
        raise StoreError(f"{path} has none of the metrics {', '.join(METRICS)}. {_GIVE}")
    return labelled_metrics(metrics, **_attributes(config, path))


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise StoreError(f"{path} has more than {MOST_BYTES >> 20} MB. {_GIVE}")
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}). {_GIVE}") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not JSON, or is damaged. Export the tree again.") from error


def _object(content: object, path: Path, what: str = "") -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise _wrong(path, f"{what or 'its content'} is not an object")
    return content


def _wrong(path: Path, problem: str) -> StoreError:
    return StoreError(f"{path} is not a file of HeadVis: {problem}. {_GIVE}")


def _from_rows(rows: object, path: Path) -> NDArray[np.float64]:
    """Metrics (metric, layer, head) from a row of each head."""
    if not isinstance(rows, list) or not rows:
        raise _wrong(path, "it lists no heads")
    places = [_place(row, path) for row in rows]
    if len(set(places)) < len(places):
        raise _wrong(path, "it lists a head twice")
    layers, heads = (1 + max(numbers) for numbers in zip(*places, strict=True))
    metrics = _no_metrics(layers, heads, path)
    for place, row in zip(places, rows, strict=True):
        for number, name in enumerate(METRICS):
            metrics[number, *place] = _number(row.get(name, row.get(ALIASES.get(name, name))), path)
    return metrics


def _place(row: object, path: Path) -> tuple[int, int]:
    numbers = [row.get(side) for side in ("layer", "head")] if isinstance(row, dict) else [None]
    if not all(type(number) is int and 0 <= number < MOST_PLACES for number in numbers):
        raise _wrong(path, f"a row has no layer and head from 0 to {MOST_PLACES - 1}")
    layer, head = numbers
    assert isinstance(layer, int)
    assert isinstance(head, int)
    return layer, head


def _number(value: object, path: Path) -> float:
    """A number of a file; NaN for a missing or infinite one."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(path, "a metric is not a number")
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _from_tables(tables: object, path: Path) -> NDArray[np.float64]:
    """Metrics (metric, layer, head) from the table of each metric: a list of layers, each a list of heads."""
    known = _object(tables, path, "metrics")
    shapes = {shape for name in METRICS if name in known if (shape := _shape(known[name], path))}
    if len(shapes) != 1:
        raise _wrong(path, "its tables have different sizes" if shapes else "it has no table of a metric")
    layers, heads = shapes.pop()
    metrics = _no_metrics(layers, heads, path)
    for number, name in enumerate(METRICS):
        if name in known:
            metrics[number] = [[_number(value, path) for value in row] for row in known[name]]
    return metrics


def _no_metrics(layers: int, heads: int, path: Path) -> NDArray[np.float64]:
    if layers * heads > MOST_HEADS:
        raise _wrong(path, f"{layers:,} layers of {heads:,} heads are more than {MOST_HEADS:,}")
    return np.full((len(METRICS), layers, heads), np.nan)


def _shape(table: object, path: Path) -> tuple[int, int]:
    rows: Sequence[Any] = table if isinstance(table, list) else []
    sizes = {len(row) if isinstance(row, list) else 0 for row in rows}
    if len(sizes) != 1 or 0 in sizes or max(len(rows), *sizes) > MOST_PLACES:
        raise _wrong(path, "a table has no rows of the same size")
    return len(rows), sizes.pop()


def _attributes(config: Mapping[str, Any], path: Path) -> dict[str, str | int]:
    """Model and text of a tree; a tree without a model's name has its folder's name."""
    pipeline = config.get("pipeline_config")
    stated = dict(config) | (pipeline if isinstance(pipeline, dict) else {})
    names = {"model": "model_name", "data": "dataset_name", "sentences": "n_sequences", "max_length": "seq_len"}
    kinds = {"model": str, "data": str, "sentences": int, "max_length": int}
    found = {ours: stated[theirs] for ours, theirs in names.items() if type(stated.get(theirs)) is kinds[ours]}
    plain: dict[str, str | int] = {"model": path.resolve().stem}
    for name, value in found.items():
        kept = _name(value) if isinstance(value, str) else value
        plain |= {name: kept} if kept != "" else {}
    return plain


def _name(text: str) -> str:
    """A name on one line, of at most `LONGEST_NAME` characters."""
    return " ".join(text.split())[:LONGEST_NAME]
