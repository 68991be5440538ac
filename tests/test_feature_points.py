"""Feature points in the store are the model's own vectors: against a forward pass written out, and transformers."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import store
from ingest.encode.feature_points import PointModel, as_half
from ingest.encode.hooked_model import HookedModel
from ingest.run.checkpoint import find_checkpoint
from ingest.run.settings import EMBEDDED
from store.features import Features
from store.schema.features import LAYER_KINDS, point_kind, point_layer, point_names, point_title
from tests.forward import feature_points, of_model, values
from tests.stores import FEATURES
from tests.tiny_models import save_model

Ingest = Callable[..., str]
CPU = torch.device("cpu")
#: Tolerance of a number near 1 in float16, with the rounding of single precision before.
CLOSE = {"rtol": 1e-3, "atol": 1e-3}


@pytest.fixture(scope="module")
def four(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Features, Any]:
    """Feature points of a narrow model of 4 layers on 5 sentences and a review, and the model itself."""
    place = tmp_path_factory.mktemp("four")
    folder = save_model(place / "model", layers=4, channels=4)
    url = ingest(place / "store", model=folder, sentences=5, **(FEATURES | {"features": "pca-joint"}))
    return store.open_corpus(url).features("sample"), load(folder)


def load(folder: Path) -> Any:
    return transformers.BertModel.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager", add_pooling_layer=False
    ).eval()


def inputs(features: Features) -> list[slice]:
    """Slices of the model's inputs on the token axis of the token set."""
    position = features.tokens.position.values
    starts = np.append(np.flatnonzero(position == 0), len(position))
    return [slice(*ends) for ends in pairwise(starts)]


def expected(model: Any, features: Features, rows: slice) -> dict[str, np.ndarray]:
    return feature_points(of_model(model), vars(model.config), features.tokens.token_id.values[rows])


def check_points(features: Features, model: Any, some: slice) -> None:
    for rows in inputs(features)[some]:
        for point, vectors in expected(model, features, rows).items():
            if point in features.points:
                np.testing.assert_allclose(features.feature.sel(point=point)[rows], vectors, **CLOSE, err_msg=point)


# -- names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("layers", "fine", "count"), [(12, False, 38), (6, False, 20), (12, True, 62), (2, True, 12)])
def test_a_model_has_two_points_and_three_or_five_a_layer(layers: int, fine: bool, count: int) -> None:
    assert len(set(point_names(layers, fine=fine))) == count


def test_points_stand_in_the_order_of_the_model() -> None:
    assert point_names(2)[:6] == ("embedding", "position", "L00.mixed", "L00.projected", "L00.feedforward", "L01.mixed")
    kinds = [point_kind(point) for point in point_names(1, fine=True)[2:]]
    assert kinds == list(LAYER_KINDS) == ["mixed", "projected", "attended", "expanded", "feedforward"]


def test_a_person_reads_layer_and_kind() -> None:
    assert [point_title(point) for point in ("embedding", "L00.mixed", "L11.feedforward")] == [
        "embedding",
        "L0 head outputs",
        "L11 layer output",
    ]
    assert (point_layer("position"), point_layer("L11.mixed"), point_layer("L120.mixed")) == (None, 11, 120)


# -- numbers --------------------------------------------------------------------------------------------


def test_every_point_of_four_layers_is_that_of_the_forward_pass_written_out(four: tuple[Features, Any]) -> None:
    features, model = four
    assert features.points == point_names(4)
    check_points(features, model, slice(None))


def test_every_point_of_the_finer_set_is_that_of_the_forward_pass_written_out(
    ingest: Ingest, tiny_model: Path, tmp_path: Path
) -> None:
    url = ingest(tmp_path / "store", sentences=5, points="fine", **FEATURES)
    features = store.open_corpus(url).features("sample")
    assert features.points == point_names(2, fine=True)
    check_points(features, load(tiny_model), slice(None))


@pytest.mark.parametrize("token_set", ["sample", "review-3"])
def test_every_point_of_the_embedded_model_is_that_of_the_forward_pass_written_out(
    token_set: str, default_store: str
) -> None:
    features = store.open_corpus(default_store).features(token_set)
    assert len(features.points) == 20
    check_points(features, load(find_checkpoint(EMBEDDED).folder), slice(0, 12))


def test_the_forward_pass_written_out_ends_where_transformers_does(four: tuple[Features, Any]) -> None:
    features, model = four
    rows = inputs(features)[0]
    ids = torch.tensor(features.tokens.token_id.values[rows][None].astype(np.int64))
    with torch.inference_mode():
        hidden = model(ids, output_hidden_states=True).hidden_states
    vectors = expected(model, features, rows)
    for number, name in enumerate(["position", *(f"L{layer:02d}.feedforward" for layer in range(4))]):
        np.testing.assert_allclose(vectors[name], hidden[number][0], rtol=1e-8, atol=1e-8)


def test_outputs_of_layers_are_the_hidden_states_of_transformers(default_store: str) -> None:
    features = store.open_corpus(default_store).features("review-3")
    model = load(find_checkpoint(EMBEDDED).folder)
    ids = torch.tensor(features.tokens.token_id.values[None].astype(np.int64))
    with torch.inference_mode():
        hidden = model(ids, output_hidden_states=True).hidden_states
    for number, name in enumerate(["position", *(f"L{layer:02d}.feedforward" for layer in range(6))]):
        np.testing.assert_allclose(features.feature.sel(point=name), hidden[number][0], **CLOSE)


def test_values_are_those_of_the_forward_pass_written_out(four: tuple[Features, Any]) -> None:
    features, model = four
    for rows in inputs(features):
        points = expected(model, features, rows)
        for layer in range(4):
            own = values(points, of_model(model), layer).reshape(rows.stop - rows.start, 2, 4).swapaxes(0, 1)
            np.testing.assert_allclose(features.value[layer][:, rows], own, **CLOSE)


def test_an_ordinary_pass_keeps_no_points(tiny_model: Path) -> None:
    bert = HookedModel(find_checkpoint(str(tiny_model)), device=CPU, dtype=torch.float32)
    assert bert.run(torch.tensor([[2, 40, 3]]), None).points == {}


def test_the_standard_set_keeps_no_finer_points(tiny_model: Path) -> None:
    model = PointModel(find_checkpoint(str(tiny_model)), device=CPU, fine=False)
    assert tuple(model.model.run(torch.tensor([[2, 40, 3]]), None).points) == model.points


def test_a_number_beyond_float16_becomes_its_largest_and_is_counted() -> None:
    halved, beyond = as_half(torch.tensor([1.5, 1e6, -1e5, 65504.0]), 65504)
    assert (halved.tolist(), beyond) == ([1.5, 65504, -65504, 65504], 2)
