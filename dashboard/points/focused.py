"""What is drawn over the points of a head for a clicked point or a typed sentence, in words: a saved picture has no table."""

from dashboard.web.view import Place
from store.schema import ROLES


def focused(place: Place) -> str | None:
    """None where nothing is."""
    address = place.address
    if address.token is not None:
        return _of_point(place, address.token)
    if address.text is None:
        return None
    second = f" and “{address.second}”" if address.second else ""
    lines = _lines("every query of it", address.top, address.least)
    return f"Large: the queries and keys of “{address.text}”{second}; {lines}."


def _of_point(place: Place, token: int) -> str:
    corpus, role = place.corpus, place.address.role
    row = corpus.rows[token]
    position, sentence = (int(corpus.tokens[name].values[row]) for name in ("position", "sentence_index"))
    (piece,) = corpus.wordpieces(corpus.rows[[token]])
    of = "every query of it" if place.address.lines == "sentence" else "the point"
    other = "keys" if role == ROLES[0] else "queries"
    return (
        f"Ringed: the {role} of “{piece}”, position {position} of sentence {sentence:,}. Large: the queries and keys of its sentence; "
        f"{_lines(of, place.address.top, place.address.least)}; dashed to the {other} anywhere in the corpus that it meets with the "
        "largest logits."
    )


def _lines(of: str, top: int, least: float) -> str:
    return f"lines: the {top} largest weights of {of}, from {least:g} on"
