"""Shares of each token in the vectors of the tokens of a text, and in the vector of the text, by a model of the reader."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from dashboard.sentence.checkpoint import load
from dashboard.sentence.sentence import Sentence
from dashboard.web.corpus_model import CorpusModel
from headscape.own_model import OwnModel, encode_text, ready_model
from ingest.encode.decomposition import DECOMPX, INSTEAD, OF_LAYER, TracedLayer, decompose, shares_by, trace, traced
from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError, short
from store import Corpus, StoreError
from store.kernels.mixing import attended_part, roll_out
from store.schema.mixing import METHODS

#: Largest difference between a model's vectors and vectors computed from its weights, as a share of the largest number. Rounding in
#: float32 makes at most 1e-6 in every family and in all-MiniLM-L6-v2; a hook that changes the output of one layer by 0.1 % makes 1e-4.
LARGEST_MISS = 1e-4
#: Methods of `METHODS` that need the values and the output projection of heads.
OF_VALUES = ("norm", "globenc")


def context_mixing(
    model: Any, tokenizer: Any, text: str, *, method: str, rolled_out: bool, found: Checkpoint | None
) -> xr.DataArray:
    """See `headscape.context_mixing`; `found` is the checkpoint where `model` is a folder or a name."""
    _check_method(method, IngestError)
    with ready_model(model, tokenizer, found) as ready:
        sentence = encode_text(ready, text)
        shares = _shares(ready, sentence, method, rolled_out)
    return _labelled(shares, sentence, sentence, ("query_token", "key_token"), {"layer": np.arange(len(shares))})


def mixing_of_corpus(corpus: Corpus, sentence: int, method: str, *, rolled_out: bool) -> xr.DataArray:
    """See `headscape.corpus.PicturedCorpus.context_mixing`, by a method that runs the model."""
    _check_method(method, StoreError)
    ids = corpus.tokens.token_id.values[corpus.sentence_rows(sentence)].astype(np.int64)
    model = load(CorpusModel.of(corpus)).hooked
    shares, _ = shares_by(trace(model, torch.from_numpy(ids).to(model.device)), method, rolled_out=rolled_out)
    labels = corpus.piece_labels(sentence) | {"layer": np.arange(corpus.layers)}
    return xr.DataArray(shares, labels, ("layer", "query_token", "key_token"), name=method)


def _check_method(method: str, error: type[IngestError | StoreError]) -> None:
    known = (*METHODS, *OF_LAYER, DECOMPX)
    if method not in known:
        raise error(f"There is no context mixing by {short(method)!r}. Choose one of: {', '.join(known)}.")


def _shares(ready: OwnModel, sentence: Sentence, method: str, rolled_out: bool) -> NDArray[np.floating]:
    """Shares (layer, query_token, key_token) by a method."""
    if method not in METHODS:
        return _traced_shares(ready, method, rolled_out)
    if method in OF_VALUES:
        _check_added(ready, sentence)
    matrices = sentence.mixing_matrices(method)
    return np.asarray(roll_out(matrices) if rolled_out else np.stack(matrices))


def _trace(ready: OwnModel, instead: str = INSTEAD) -> tuple[list[TracedLayer], Tensor]:
    """Traced layers of a model's last pass, and the model's output for that sentence, with its owner's hooks: (token, feature)."""
    assert ready.captured.last is not None, "a pass before"
    return traced(ready.hooked, ready.captured, instead=instead), ready.captured.last[0]


def _traced_shares(ready: OwnModel, method: str, rolled_out: bool) -> NDArray[np.floating]:
    """Shares (layer, query_token, key_token) by a method that runs the layers again."""
    layers, last = _trace(ready)
    shares, parts = shares_by(layers, method, rolled_out=rolled_out)
    if parts is not None:
        _check_same(ready, parts.sum(1), last)
        return shares
    for layer, output in zip(layers, [*(each.layer_input for each in layers[1:]), last], strict=True):
        _check_same(ready, layer.output_vectors(), output)
    return shares


def _check_added(ready: OwnModel, sentence: Sentence) -> None:
    """Refuse a model in which the output of heads does not follow from their values and weights."""
    for layer, projection in enumerate(ready.hooked.output_projections()):
        value, projected = (each[layer][0].float().cpu() for each in (ready.captured.value, ready.captured.projected))
        weight, bias = projection.weight.cpu(), projection.bias.cpu()
        added = [attended_part(torch.from_numpy(rows), value, weight) for _, rows in sentence.all_rows(layer)]
        _check_same(ready, torch.cat(added) + bias, projected)


def _check_same(ready: OwnModel, computed: Tensor, given: Tensor) -> None:
    """Refuse a model whose vectors do not follow from its weights, because of a hook or a changed forward pass."""
    miss = float((computed - given).abs().max() / given.abs().max())
    if not miss <= LARGEST_MISS:
        raise IngestError(
            f"{short(ready.checkpoint.name)} computes other vectors than its weights say, by {miss:.2g} of the largest number, as where a hook "
            "changes them. Give the model without its hooks."
        )


def alike(model: Any, tokenizer: Any, first: str, second: str, *, found: Checkpoint | None) -> xr.DataArray:
    """See `headscape.alike`; `found` is the checkpoint where `model` is a folder or a name."""
    with ready_model(model, tokenizer, found) as ready:
        both, parts = zip(*(_vector_parts(ready, text) for text in (first, second)), strict=True)
    lengths = [np.linalg.norm(each.sum(axis=0)) for each in parts]
    products = parts[0] @ parts[1].T / (lengths[0] * lengths[1])
    return _labelled(products, both[0], both[1], ("first_token", "second_token"), {})


def _vector_parts(ready: OwnModel, text: str) -> tuple[Sentence, NDArray[np.floating]]:
    """The encoded text, and the part of each input token in the mean of the last vectors: (token, feature)."""
    sentence = encode_text(ready, text)
    layers, last = _trace(ready, "Give a model with BERT's layers.")
    *_, parts = decompose(layers, instead="Give a shorter text.")
    _check_same(ready, parts.sum(1), last)
    return sentence, np.asarray(parts.mean(0).cpu().numpy())


def _labelled(
    values: NDArray[np.floating], first: Sentence, second: Sentence, dims: tuple[str, str], labels: dict[str, Any]
) -> xr.DataArray:
    """Values labelled with the wordpieces of both sides."""
    sides = zip(dims, (first, second), strict=True)
    labels = labels | {dim.replace("token", "wordpiece"): (dim, list(own.wordpieces)) for dim, own in sides}
    return xr.DataArray(values, labels, (*labels.keys() & {"layer"}, *dims))
