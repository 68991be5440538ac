"""The two compared models as a page names them: A and B with their names, each with a colour of its own (compare.css)."""

from collections.abc import Sequence

from dash import html

from dashboard.compare.two_models import ModelPair

#: The model of the link and the other one.
LETTERS = ("A", "B")
#: What differences are.
MINUS = "B - A"


def lettered(two: ModelPair) -> tuple[str, str]:
    """Both names as text: `A: bert-base`, `B: bert-tuned`."""
    own, other = (f"{letter}: {name}" for letter, name in zip(LETTERS, two.names, strict=True))
    return own, other


def of_both(values: Sequence[float]) -> str:
    """A number of each model: `A 0.86, B 0.87`; of those that have one."""
    each = zip(LETTERS, values, strict=True)
    return ", ".join(f"{letter} {value:.2f}" for letter, value in each if value == value)


def badge(place: int) -> html.Span:
    """The letter of a model, 0 or 1, on its colour."""
    return html.Span(LETTERS[place], className=f"model-letter {LETTERS[place].lower()}")


def marked(two: ModelPair, place: int) -> html.Span:
    """The letter of a model with its name."""
    return html.Span([badge(place), " ", html.Span(two.names[place])], className="model-name")
