"""How the numbers of a model were made: settings, versions and device for readers, the places of model and data for a server."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from ingest.encode.encoder import Encoder
from ingest.finetuning.run import measured_accuracy
from ingest.run.checkpoint import LOCAL, Checkpoint
from ingest.run.settings import EMBEDDED, NONE, Settings
from ingest.text.reviews import Data
from store.schema.pictures import ViewName

#: Settings of what was encoded, which an ingest that encodes nothing leaves as they were.
ENCODED = ("stage", "sentences", "tokens", "vectors", "device", "dtype", "batch")
#: Settings that may ask for nothing: what an ingest before made then stays.
OPTIONAL = ("importance", "annotate", "probes", "mixing", "features")
PACKAGES = ("headscape", "torch", "transformers", "zarr", "icechunk")


def encoded(
    before: Mapping[str, Any],
    settings: Settings,
    checkpoint: Checkpoint,
    data: Data,
    views: Sequence[ViewName],
    encoder: Encoder,
) -> dict[str, Any]:
    """The provenance of an ingest that encodes sentences; `before` is the provenance so far, empty for a new model.

    `views` are those of the settings, and others that the model has.
    """
    return {
        "settings": _settings(before, settings, data, views),
        "revision": checkpoint.revision,
        "folder": str(checkpoint.folder.resolve()),
        "tokenizer_sha256": checkpoint.tokenizer_sha256,
        "data": asdict(data),
        "finetuned": measured_accuracy(checkpoint.folder),
        "device": str(encoder.model.device),
        "batch_tokens": encoder.batch_tokens,
        **_versions(),
    }


def computed(before: Mapping[str, Any], settings: Settings, data: Data, views: Sequence[ViewName]) -> dict[str, Any]:
    """The provenance of an ingest that computed something, and encoded nothing."""
    chosen = _settings(before, settings, data, views)
    kept = {name: before["settings"][name] for name in ENCODED if name in before["settings"]}
    return {**before, "settings": chosen | kept, **_versions()}


def placed(before: Mapping[str, Any], settings: Settings, checkpoint: Checkpoint, data: Data) -> dict[str, Any]:
    """The provenance with the places of model and data as they are now; a spelling of a name of the hub is no place."""
    now = dict(before)
    settings_now = dict(before["settings"])
    if _model_moved(before, settings, checkpoint):
        settings_now["model"] = settings.model
        now |= {"revision": checkpoint.revision, "tokenizer_sha256": checkpoint.tokenizer_sha256}
        if checkpoint.place is not None:
            now["folder"] = str(checkpoint.place.resolve())
    if _is_local(data) and (settings.data, data.place) != (settings_now.get("data"), before["data"].get("place")):
        settings_now["data"] = settings.data
        now["data"] = asdict(data)
    return {**now, "settings": settings_now}


def _model_moved(before: Mapping[str, Any], settings: Settings, checkpoint: Checkpoint) -> bool:
    named = [str(name).partition("@")[0] for name in (before["settings"].get("model"), settings.model)]
    identities = ("revision", "tokenizer_sha256")
    moved = named[0] != named[1] or any(before.get(name) != getattr(checkpoint, name) for name in identities)
    if checkpoint.revision != LOCAL or checkpoint.place is None:
        return moved
    place = str(checkpoint.place.resolve())
    return moved or before.get("folder", place) != place


def _is_local(data: Data) -> bool:
    return data.place != EMBEDDED and not data.identity.startswith("hub:")


def _settings(before: Mapping[str, Any], settings: Settings, data: Data, views: Sequence[ViewName]) -> dict[str, Any]:
    """The settings, and those of earlier ingests for what these settings leave as it is."""
    known: Mapping[str, Any] = before.get("settings", {})
    chosen = asdict(settings) | {"first": data.first or settings.first}
    if set(views) != set(settings.view_names):
        chosen["views"] = ",".join(map(str, views))
    there = {name: known[name] for name in OPTIONAL if name in known and chosen[name] in (0, NONE)}
    both = [chosen["features"], known.get("features", NONE)]
    if NONE not in both:
        there["features"] = ",".join(dict.fromkeys(",".join(both).split(",")))
    return chosen | there


def _versions() -> dict[str, Any]:
    return {"python": platform.python_version(), "versions": {name: version(name) for name in PACKAGES}}
