"""Limits of an ingest are arguments: stores are made with the usual limits, and no test patches by a dotted name."""

from dataclasses import asdict
from pathlib import Path

from ingest.run.settings import USUAL
from tests.structure.figures import patches

#: Another value changes the bytes of every store that is made from then on.
STORED = {
    "block": 8_192,
    "fit_tokens": 20_000,
    "judged_sentences": 100,
    "head_tokens": 500,
    "attention_steps": 700,
    "few_tokens": 512,
    "largest_feature": 65_504,
    "random_tokens": 20_000,
}


def test_stores_are_made_with_the_usual_limits() -> None:
    assert STORED.items() <= asdict(USUAL).items()


def test_no_test_patches_by_a_dotted_name() -> None:
    """Whoever moves or renames a function then finds its uses in the tests too."""
    texts = {path.name: path.read_text("utf-8") for path in Path(__file__).parent.rglob("*.py")}
    assert [name for name, text in texts.items() if patches(text)[1]] == []
