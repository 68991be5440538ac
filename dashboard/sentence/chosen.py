"""What a link chooses of a sentence: how its patterns are shown, and which of its tokens and heads are selected."""

from dataclasses import replace

from dashboard.sentence.shown_pattern import FIELDS, Showing, Unit, parse_showing, shown_units
from dashboard.web.view import Place


def showing_of(place: Place) -> Showing:
    """What of its patterns is shown; by position attention weights, as the means beside them are."""
    showing = parse_showing({name: str(place.address.fields[name] or "") for name in FIELDS})
    return replace(showing, weights="attention") if place.address.show == "positions" else showing


def chosen_column(place: Place) -> tuple[Unit, ...]:
    """The column in which tokens are selected: the shown queries, or the shown keys."""
    queries, keys = shown_units(place.sentence, showing_of(place))
    return keys if place.address.role == "key" else queries


def chosen_places(place: Place) -> list[int]:
    """Where in that column the selected tokens are; what is not there is left out."""
    count = len(chosen_column(place))
    return [number for number in numbers(place.address.queries) if number < count]


def chosen_units(place: Place) -> list[Unit]:
    """The selected wordpieces or words."""
    column = chosen_column(place)
    return [column[number] for number in chosen_places(place)]


def chosen_query(place: Place) -> int | None:
    """Position of the first selected query, of a word that of its first wordpiece; None where none is selected."""
    units = chosen_units(place) if place.address.role == "query" else []
    return units[0].positions[0] if units else None


def chosen_heads(place: Place) -> list[int]:
    """Heads whose lines are drawn; all, unless some were chosen. A rollout has one."""
    if showing_of(place).rollout:
        return [0]
    return numbers(place.address.heads) or list(range(place.corpus.heads))


def isolated_head(place: Place) -> int:
    """The head whose lines are drawn alone in the head view, else the head of the link."""
    address = place.address
    drawn = numbers(address.heads) if address.show == "head" and not address.rollout else []
    return drawn[0] if len(drawn) == 1 else address.head


def numbers(text: str | None) -> list[int]:
    """From `3.4`."""
    return [int(number) for number in (text or "").split(".") if number]
