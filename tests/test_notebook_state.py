"""The state of a widget that a program sets: missing things are refused in a sentence, and JSON holds the rest."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ipywidgets import Widget as AnyWidget

import headscape
from headscape.corpus import PicturedCorpus
from store import StoreError


@pytest.fixture(autouse=True)
def no_widgets_left() -> Iterator[None]:
    """Close all widgets after a test: ipywidgets keep every widget."""
    yield
    AnyWidget.close_all()


@pytest.fixture
def pictured(tiny_store: str) -> PicturedCorpus:
    return headscape.open(tiny_store)


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"layer": 99}, r"layer = 99\. Choose one of the numbers 0 to 1\."),
        ({"layer": 1.0}, r"layer = 1\.0\. Choose one of the numbers 0 to 1\."),
        ({"head": 2}, r"head = 2\. Choose one of the numbers 0 to 1\."),
        ({"heads": [0, 99]}, r"heads = \[0, 99\]\. Choose some of the numbers 0 to 1\."),
        ({"heads": 0}, r"heads = 0\. Choose some of the numbers 0 to 1\."),
        ({"tokens": [500]}, r"tokens = \[500\]\. Choose some of the numbers 0 to 6\."),
        ({"show": "neuron", "tokens": [500]}, r"tokens = \[500\]\. Choose some"),
        ({"toward": -1}, r"toward = -1\. Choose one of the numbers 0 to 6, or None\."),
        ({"hidden": [7]}, r"hidden = \[7\]\. Choose some of the numbers 0 to 6\."),
        ({"show": "tree"}, r"show = 'tree'\. Choose one of head, model, matrix, neuron\."),
        ({"pair": "xy"}, r"pair = 'xy'\. Choose one of all, aa"),
        ({"side": 1}, r"side = 1\. Choose one of query, key\."),
        ({"scale": []}, r"scale = \[\]\. Choose one of"),
    ],
)
def test_a_state_of_what_a_sentence_does_not_have_is_refused(
    state: dict[str, Any], sentence: str, tiny_model: Path
) -> None:
    widget = headscape.sentence(str(tiny_model), None, "The film was good.")
    before = widget.state
    with pytest.raises(StoreError, match=f"A state cannot have {sentence}"):
        widget.state = state
    assert widget.state == before


LASSO = "-10,-10,500,-10,500,1010,-10,1010"


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"layer": 0}, r"layer = 0\. Choose one of the numbers 1 to 1\."),
        ({"head": None}, r"head = None\. Choose one of the numbers 0 to 0\."),
        ({"token": 40}, r"token = 40\. Choose one of the numbers 0 to 39, or None\."),
        ({"role": "value", "token": 3}, r"role = 'value'\. Choose one of query, key\."),
        ({"lasso": "zzz"}, r"lasso = 'zzz'\. Draw a region in the picture, or choose None\."),
        ({"lasso": 7}, r"lasso = 7\. Draw"),
        ({"lasso": f"{{view}},1,1,0,0,{LASSO}"}, r"lasso = .* Draw"),
        ({"lasso": f"nope,1,0,0,0,{LASSO}"}, r"lasso = 'nope,.* Draw"),
    ],
)
def test_a_state_of_what_points_do_not_have_is_refused(
    state: dict[str, Any], sentence: str, pictured: PicturedCorpus
) -> None:
    filled = {
        name: value.format(view=pictured.views[0]) if isinstance(value, str) else value for name, value in state.items()
    }
    widget = pictured.show(1, 0, tokens=40)
    with pytest.raises(StoreError, match=f"A state cannot have {sentence}"):
        widget.state = filled


def test_numbers_of_numpy_are_plain_numbers_in_a_state(pictured: PicturedCorpus) -> None:
    one = np.int64(1)
    sentence, points = (
        pictured.sentence(int(one), layer=one, heads=[one], first=one),
        pictured.show(one, one, tokens=one),
    )
    sentence.state = {**sentence.state, "tokens": np.array([1, 2]), "toward": np.int64(0)}
    points.state = {**points.state, "token": np.int64(0)}
    state = json.loads(json.dumps(sentence.state))
    assert (state["layer"], state["heads"], state["tokens"], state["toward"]) == (1, [1], [1, 2], 0)
    assert json.loads(json.dumps(points.state))["token"] == 0
