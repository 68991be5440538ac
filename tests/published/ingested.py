"""A corpus from the product's own ingest, in a store in a temporary folder."""

from dataclasses import dataclass
from pathlib import Path

import xarray as xr

import store
from ingest import pipeline
from ingest.run.settings import EMBEDDED, NONE, Settings, setting
from store.repository.errors import NotIngested


@dataclass(frozen=True)
class Ingested:
    """Flags that a comparison passes on to an ingest."""

    data: str = setting("", "treebank, CoNLL-U or CoNLL-X, or other data, as of an ingest")
    model: str = setting(EMBEDDED, "hub name or local folder of a checkpoint")
    sentences: int | None = setting(None, "how many sentences of each file", int)


def ingested(
    folder: Path, flags: Ingested, *, data: str = "", probes: str = "auto", max_length: int = 128
) -> store.Corpus:
    """Ingest the data of the flags, or other data, into a store in a folder, without the parts that only pages show."""
    settings = Settings(
        store=str(folder / "store"),
        data=data or flags.data,
        model=flags.model,
        sentences=flags.sentences,
        max_length=max_length,
        dtype="float32",
        views="pca-exact-2d",
        features=NONE,
        reviews=NONE,
        probes=probes,
    )
    pipeline.run(settings)
    return store.open_corpus(settings.store)


def uas_of(corpus: store.Corpus) -> xr.Dataset | None:
    """Parsing from attention alone (UAS); None where the annotation is silver or the sentences are too few."""
    try:
        return corpus.uas
    except NotIngested:
        return None
