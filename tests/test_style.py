"""The style sheets: one scale of texts, spaces on one grid, one radius."""

import re
from collections.abc import Iterator

import pytest

from dashboard.web.assets import DASHBOARD

ASSETS = DASHBOARD / "assets"
SHEETS = sorted(ASSETS.glob("*.css"))
#: Step of the grid in pixels, and allowed values below it: for lines, and for texts beside marks.
STEP, THIN = 4, ("1px", "2px")
SCALE = re.compile(r"inherit|var\(--text-\w+\)|calc\([\d.]+ \* var\(--text-\w+\)\)")
RADII = re.compile(r"0|50%|var\(--radius(-mark)?\)")


def values(sheet: str, name: str) -> Iterator[str]:
    """Values of a property, and of properties whose names extend its name by a hyphen and more, at either end."""
    for _, value in re.findall(rf"[\s{{;]((?:[\w]+-)?{name}(?:-[\w-]+)?)\s*:\s*([^;}}]+)", sheet):
        yield value.replace("!important", "").strip()


def on_grid(value: str) -> bool:
    """Whether a value is on the grid; negative values place a mark over a point of a picture, and follow its size."""
    if value in ("0", "auto", *THIN) or value.startswith("-"):
        return True
    pixels = re.fullmatch(r"(\d+)px", value)
    return pixels is not None and int(pixels[1]) % STEP == 0


@pytest.fixture(params=SHEETS, ids=lambda path: path.name)
def sheet(request: pytest.FixtureRequest) -> str:
    return str(request.param.read_text("utf-8"))


def test_every_size_of_text_is_of_the_scale(sheet: str) -> None:
    assert [size for size in values(sheet, "font-size") if not SCALE.fullmatch(size)] == []


@pytest.mark.parametrize("name", ["padding", "margin", "gap"])
def test_every_space_is_on_the_grid(sheet: str, name: str) -> None:
    assert [value for value in values(sheet, name) if not all(map(on_grid, value.split()))] == []


def test_every_radius_is_one_of_two(sheet: str) -> None:
    assert [value for value in values(sheet, "border-radius") if not all(map(RADII.fullmatch, value.split()))] == []
