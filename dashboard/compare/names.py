"""The two compared models as a page names them: A and B with their names, each with a colour of its own (compare.css)."""

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


def badge(place: int) -> html.Span:
    """The letter of a model, 0 or 1, on its colour."""
    return html.Span(LETTERS[place], className=f"model-letter {LETTERS[place].lower()}")


def marked(two: ModelPair, place: int) -> html.Span:
    """The letter of a model with its name."""
    return html.Span([badge(place), " ", html.Span(two.names[place])], className="model-name")
