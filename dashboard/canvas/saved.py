"""What a saved picture says that on the page its header and its controls say: it leaves both behind."""

from collections.abc import Mapping
from urllib.parse import unquote

from dashboard.ui.files import provenance_of
from dashboard.web.view import Place

#: How a search that is not for whole tokens is named.
AS = {"prefix": " as the beginning of a token", "phrase": " as a phrase"}


def saved(place: Place, selection: Mapping[str, str]) -> dict[str, object]:
    """What it is of, and as `notes` what is selected by `selection`, as in a link."""
    return {**provenance_of(place), "notes": [*_selected(selection), *_size(place)]}


def _selected(selection: Mapping[str, str]) -> list[str]:
    search = f"“{selection['q']}”{AS.get(selection.get('within', ''), '')}" if "q" in selection else ""
    conditions = [unquote(one) for one in selection.get("where", "").split(";")]
    region = "a region" if selection.keys() & {"lasso", "flasso"} else ""
    by = [one for one in (search, *conditions, region) if one]
    return [f"What stands out is selected by {', '.join(by)}."] if by else []


def _size(place: Place) -> list[str]:
    on_page = place.address.page in ("heads", "head")
    return ["The larger a point, the larger the norm of its vector."] if place.address.size and on_page else []
