"""Settings of an ingest as a reader reads them, and the command that repeats them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from store.phrases import many
from store.schema.pictures import ViewName

Settings = Mapping[str, Any]
#: Settings that may name folders of the server; `headscape describe` shows them.
PLACES = ("model", "data", "store", "workers", "scheduler")
#: Titles that are listed one by one.
FEW = 4
#: What settings hold that leave a choice to the ingest, or switch something off.
AUTO, NONE = "auto", "none"


def readable_settings(settings: Settings) -> dict[str, str]:
    """What an ingest was asked for, by title, without what it chose. An ingest of an older Headscape has fewer settings."""
    known = {name: value for name, value in settings.items() if name not in PLACES}
    return {title: text for title, text in _titled(known) if text}


def command(settings: Settings) -> str:
    """The command of an ingest with these settings, without places on the server."""
    flags = [
        f"--{name.replace('_', '-')}={value}"
        for name, value in settings.items()
        if value is not None and name not in PLACES
    ]
    return " \\\n  ".join(["headscape ingest", *flags])


def _titled(settings: Settings) -> Iterator[tuple[str, str]]:
    yield "requested size", _amount(settings)
    yield "vectors", _vectors(settings)
    yield "longest sentence", _worded(settings, "max_length", "wordpieces")
    yield "sample", _worded(settings, "seed", before="seed")
    yield "split into sentences", _choice(settings, "sentence_split")
    yield "split of the data", str(settings.get("data_split") or "")
    yield "reviews that are read", _first(settings)
    yield "columns", " and ".join(f"“{settings[name]}”" for name in ("text", "label") if settings.get(name))
    yield "device, precision", ", ".join(filter(None, (_choice(settings, name) for name in ("device", "dtype"))))
    yield "forward pass", _batch(settings)
    yield "pictures of heads", _listed(list(_titles(settings.get("views"), ViewName.parse)))
    yield "pictures of points", _listed(list(_titles(settings.get("features"), ViewName.parse_points)))
    yield "points, UMAP", _points(settings)
    yield "words and grammar", _choice(settings, "annotate")
    yield "probes of governors", _choice(settings, "probes")
    yield "head importance", _importance(settings)


def _amount(settings: Settings) -> str:
    amounts = [many(settings[name], name[:-1]) for name in ("sentences", "tokens") if settings.get(name)]
    return amounts[0] if amounts else ""


def _vectors(settings: Settings) -> str:
    """An ingest of an older Headscape stored those of every token."""
    vectors = str(settings.get("vectors", ""))
    return f"of the first {many(int(vectors), 'token')}" if vectors.isdigit() else vectors and "of all tokens"


def _first(settings: Settings) -> str:
    first = settings.get("first")
    return f"the first {first:,}" if isinstance(first, int) else str(first or "")


def _worded(settings: Settings, name: str, unit: str = "", before: str = "") -> str:
    return f"{before} {settings[name]} {unit}".strip() if name in settings else ""


def _choice(settings: Settings, name: str) -> str:
    """Empty where the ingest chose: the facts of the model say what it chose."""
    return str(settings.get(name, AUTO)).replace(AUTO, "")


def _batch(settings: Settings) -> str:
    return f"{settings['batch']:,} tokens" if settings.get("batch") else ""


def _listed(titles: Sequence[str]) -> str:
    """Few titles; of many their number, as the command has them all."""
    return "; ".join(titles) if len(titles) <= FEW else f"{len(titles)} requested"


def _titles(names: str | None, parse: Any) -> Iterator[str]:
    """The titles of views, with their names."""
    if names == NONE:
        yield NONE
    elif names:
        yield from (parse(name.strip()).title for name in names.split(","))


def _points(settings: Settings) -> str:
    if settings.get("features") in (None, NONE):
        return ""
    umap = ", ".join(
        text
        for text in (
            _worded(settings, "neighbors", "neighbours"),
            _worded(settings, "min_dist", before="minimum distance"),
            _worded(settings, "metric", "distance"),
        )
        if text
    )
    reviews = settings.get("reviews")
    whole = f"; whole reviews: {reviews}" if reviews else ""
    return f"{settings.get('points', 'standard')}; UMAP: {umap}{whole}"


def _importance(settings: Settings) -> str:
    if "importance" not in settings:
        return ""
    return f"over {many(settings['importance'], 'sentence')}" if settings["importance"] else NONE
