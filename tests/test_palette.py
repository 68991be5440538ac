"""Colours with different meanings stay distinct for every kind of colour vision."""

import re
from pathlib import Path

import numpy as np
import pytest

from dashboard.compare.sentences import COLOURS
from dashboard.ui.charts import DENSITY, SERIES, STEPS
from dashboard.ui.theme import CATEGORIES, LABEL_COLOURS, OTHER, PALETTE, rgb
from store.kernels.heads import LABELS
from tests.colour_vision import VISION, least_difference, seen

ASSETS = Path(__file__).parents[1] / "dashboard" / "assets"


def of_style(file: str, name: str) -> list[str]:
    """Colours that a style sheet gives to custom properties of this name, in the order of the file."""
    return re.findall(rf"--{name}: (#[0-9a-f]{{6}})", (ASSETS / file).read_text("utf-8"))


MODELS = list(zip(of_style("compare.css", "model-a"), of_style("compare.css", "model-b"), strict=True))
PALETTES = {
    "labels of heads": LABEL_COLOURS,
    "series": SERIES,
    "steps of layers": STEPS,
    **{f"categories, {scheme}": (*colours, OTHER[scheme]) for scheme, colours in CATEGORIES.items()},
}


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("name", PALETTES)
def test_colours_of_a_palette_differ(name: str, vision: str) -> None:
    """Lines and marks also differ in their symbol or carry their name; 2.3 is just noticeable side by side."""
    assert least_difference(PALETTES[name], vision) > 9


def mixed(colour: str, share: float, ground: str) -> str:
    """Mixture of a colour and a ground, as by `color-mix` of a style sheet in sRGB."""
    parts = (round(share * one + (1 - share) * other) for one, other in zip(rgb(colour), rgb(ground), strict=True))
    return "#{:02X}{:02X}{:02X}".format(*parts)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("of", ["label", "cell"])
def test_cls_and_sep_differ_on_dark(of: str, vision: str) -> None:
    """On dark, [CLS] is mixed with less of the ground than [SEP]."""
    style = (ASSETS / "overview.css").read_text("utf-8")
    (share,) = re.findall(rf"--of-{of}: (\d+)%", style)
    others = {"label": 0.55, "cell": 0.26}[of]
    cls, sep = (LABEL_COLOURS[list(LABELS).index(name)] for name in ("[CLS]", "[SEP]"))
    ground = PALETTE["dark"]["background"]
    assert least_difference([mixed(cls, int(share) / 100, ground), mixed(sep, others, ground)], vision) > 19


@pytest.mark.parametrize("vision", VISION)
def test_a_density_has_no_colour_of_queries_or_keys(vision: str) -> None:
    roles = [PALETTE[scheme][role] for scheme in PALETTE for role in ("query", "key")]
    for _, colour in DENSITY:
        assert all(least_difference([colour, role], vision) > 9 for role in roles)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", [0, 1])
def test_the_two_models_differ_clearly(scheme: int, vision: str) -> None:
    assert least_difference(MODELS[scheme], vision) > 40


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", PALETTE)
def test_queries_and_keys_differ_clearly(scheme: str, vision: str) -> None:
    roles = [PALETTE[scheme][role] for role in ("query", "key")]  # type: ignore[index]
    assert least_difference(roles, vision) > 40


def test_lines_of_the_models_have_the_colours_of_their_letters() -> None:
    assert [colour.lower() for colour in COLOURS] == list(MODELS[0])


@pytest.mark.parametrize("vision", VISION)
def test_every_kind_of_vision_sees_grey_as_grey(vision: str) -> None:
    np.testing.assert_allclose(seen("#808080", vision), seen("#808080", "normal"), atol=0.05)


def test_red_and_green_of_one_lightness_are_alike_in_deuteranopia() -> None:
    pair = ("#C25400", "#7F7F00")
    assert least_difference(pair, "deuteranopia") < least_difference(pair, "normal") / 3
