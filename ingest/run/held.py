"""What the published store holds of models and data, so that neither is read, nor the hub asked, for what is finished."""

from collections.abc import Mapping
from typing import Any

from ingest.run.checkpoint import EMBEDDED_PACKAGE, LOCAL, Checkpoint
from store import Snapshot, StoreError, open_snapshot


def held_data(url: str) -> list[str]:
    """Identities of the data; those of the last models at the end."""
    snapshot = _published(url)
    return [] if snapshot is None else [str(_corpus(snapshot, model)["data_identity"]) for model in _models(snapshot)]


def held_models(url: str) -> list[Checkpoint]:
    """Checkpoints of the hub, without their files; those that were finished last at the end."""
    snapshot = _published(url)
    models = [] if snapshot is None else [_checkpoint(snapshot, model) for model in _models(snapshot)]
    return [model for model in models if model.revision not in ("", LOCAL, EMBEDDED_PACKAGE)]


def held_token_sets(url: str, checkpoint: Checkpoint, data_identity: str) -> set[str]:
    """Names of the token sets that a model has at its feature points, on any corpus of some data."""
    snapshot = _published(url)
    if snapshot is None:
        return set()
    of_model = {"weights_sha256": checkpoint.weights_sha256}.items()
    alike = {key: model for key, model in snapshot.models.items() if model.items() >= of_model}
    keys = [key for key, model in alike.items() if _corpus(snapshot, model)["data_identity"] == data_identity]
    return {name for key in keys for name in snapshot.corpus(key).token_sets}


def _published(url: str) -> Snapshot | None:
    try:
        return open_snapshot(url)
    except StoreError:
        return None


def _models(snapshot: Snapshot) -> list[dict[str, Any]]:
    return sorted(map(dict, snapshot.models.values()), key=lambda model: str(model["finished"]))


def _corpus(snapshot: Snapshot, model: Mapping[str, Any]) -> dict[str, Any]:
    return dict(snapshot.group(f"corpus/{model['corpus']}").attrs)


def _checkpoint(snapshot: Snapshot, model: dict[str, Any]) -> Checkpoint:
    revision = str(model.get("provenance", {}).get("revision", ""))
    name, weights = str(model["model_id"]), str(model["weights_sha256"])
    tokenizer = str(_corpus(snapshot, model)["tokenizer_sha256"])
    return Checkpoint(name, None, revision, dict(model["config"]), weights, tokenizer)
