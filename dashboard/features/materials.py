"""The materials of a model that have a picture: while an ingest draws, and after one that was stopped, some have none."""

from dashboard.web.view import Place
from store import Corpus
from store.schema.features import SAMPLE


def drawn_materials(corpus: Corpus) -> list[str]:
    """Names of those with a picture, in the order of the store."""
    return [name for name in corpus.materials if corpus.features(name).views]


def is_drawn(place: Place) -> bool:
    """Whether there is a picture of the link's material."""
    corpus = place.corpus
    return bool(corpus.materials) and (place.address.material or corpus.materials[0]) in drawn_materials(corpus)


def material_title(material: str) -> str:
    """For a person: `the sample`, `review 3`."""
    return "the sample" if material == SAMPLE else material.replace("-", " ")
