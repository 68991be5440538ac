"""Models as a person tells them apart: the same model may stand in a store with several corpora."""

from store import Snapshot


def model_names(snapshot: Snapshot) -> dict[str, str]:
    """Key of every finished model of a snapshot -> "model on corpus"."""
    return {key: f"{one['model_id']} on {one['corpus']}" for key, one in snapshot.models.items()}
