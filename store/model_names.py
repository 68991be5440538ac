"""Names of the models of a store for people: folders tell apart those that are called alike, as `checkpoint-500` of two trainings."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from store.repository.errors import StoreError

Attributes = Mapping[str, Any]
#: Characters at the end of a model's key that differ between any two models.
HASH = 8


def model_titles(models: Mapping[str, Attributes]) -> dict[str, str]:
    """Name of each model by its key; names differ where the weights do, and on one corpus.

    Parameters
    ----------
    models
        Attributes of the models of a store by key.
    """
    titles = {key: str(attributes["model_id"]) for key, attributes in models.items()}
    for name in set(titles.values()):
        alike = [key for key, title in titles.items() if title == name]
        titles |= _told_apart({key: models[key] for key in alike}, name)
    return titles


def _told_apart(models: Mapping[str, Attributes], name: str) -> dict[str, str]:
    """Names of models that are all called `name`: with as few folders as tell them apart, else with the end of their keys."""
    folders = {key: _folders(attributes, name) for key, attributes in models.items()}
    deepest = max(map(len, folders.values()))
    for depth in range(deepest + 1):
        titles = {
            key: "/".join([*parts[len(parts) - min(depth, len(parts)) :], name]) for key, parts in folders.items()
        }
        if _differ(titles, models):
            return titles
    return {key: f"{name} ({key[-HASH:]})" for key in models}


def _differ(titles: Mapping[str, str], models: Mapping[str, Attributes]) -> bool:
    """Whether no two models have one title that have different weights, or one corpus."""
    weights = {(title, str(models[key]["weights_sha256"])) for key, title in titles.items()}
    corpora = {(title, str(models[key]["corpus"])) for key, title in titles.items()}
    return len(weights) == len(set(titles.values())) and len(corpora) == len(models)


def _folders(attributes: Attributes, name: str) -> tuple[str, ...]:
    """Folders above that of the checkpoint, the nearest last; none for a model of the hub."""
    provenance: Attributes = attributes.get("provenance", {})
    place = provenance.get("folder") or provenance.get("settings", {}).get("model") or ""
    parts = [part for part in PurePath(str(place)).parts if part not in ("/", "..")]
    return tuple(parts[:-1]) if parts and parts[-1] == name else ()


def find_key(models: Mapping[str, Attributes], named: str) -> str:
    """Key of the only model that has this key, title or name.

    Raises
    ------
    StoreError
        Where none has it, or several have it.
    """
    if named in models:
        return named
    titles, names = model_titles(models), {key: str(attributes["model_id"]) for key, attributes in models.items()}
    found = [key for key in models if titles[key] == named] or [key for key in models if names[key] == named]
    if len(found) == 1:
        return found[0]
    shown = ", ".join(key if titles[key] == names[key] else f"{key} ({titles[key]})" for key in found or models)
    problem = (
        f"{len(found)} models of this store are called {named!r}"
        if found
        else f"There is no model {named!r} in this store"
    )
    raise StoreError(f"{problem}. Choose one of: {shown}.")
