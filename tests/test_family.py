"""Names of a family's modules and weights stand in ingest/family alone."""

import re
from pathlib import Path

import pytest

from ingest.family import FAMILIES, family_of, find_family
from ingest.family.protocol import Family

ROOT = Path(__file__).parents[1]
#: Modules and weights of a BERT, as transformers names them.
PARTS = re.compile(
    r"attention\.self|\.intermediate\b|\.output\.(dense|LayerNorm)|word_embeddings|\bBert(Model|Self|For)|encoder\.layer\b|\bbert\."
)


def test_no_other_file_names_a_part_of_a_model() -> None:
    files = (
        path for package in ("store", "ingest", "dashboard", "headscape") for path in (ROOT / package).rglob("*.py")
    )
    others = [path for path in files if path.parent != ROOT / "ingest/family"]
    assert {str(path): found[0] for path in others if (found := PARTS.search(path.read_text("utf-8")))} == {}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_is_found_by_its_config(family: Family) -> None:
    config = {"model_type": family.model_type}
    assert find_family(config) is family
    assert family_of(config) is family


@pytest.mark.parametrize("model_type", ["gpt_neox", None, ["bert"], 5])
def test_another_config_has_no_family(model_type: object) -> None:
    assert find_family({"model_type": model_type}) is None
