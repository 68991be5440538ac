"""What a file is of: the models, the corpus and the snapshot, named in the file and in its name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.compare.two_models import Two, two_of
from dashboard.web.view import Place
from store import Snapshot


@dataclass(frozen=True)
class Provenance:
    """Keys of the store: each stays the same for as long as the numbers do."""

    models: tuple[str, ...]
    corpus: str
    snapshot: str

    @classmethod
    def of(cls, snapshot: Snapshot, models: Sequence[str]) -> "Provenance":
        """Of one model of a snapshot, or of two."""
        corpora = dict.fromkeys(snapshot.corpus(model).attributes["corpus"] for model in models)
        return cls(tuple(models), " and ".join(corpora), snapshot.id)

    def __str__(self) -> str:
        return f"{' and '.join(self.models)} on {self.corpus}, snapshot {self.snapshot}"

    @property
    def stem(self) -> str:
        """The end of a file's name. The key of a model stands for its corpus too: it is hashed from both."""
        return "-".join([*self.models, self.snapshot])

    @property
    def metadata(self) -> Mapping[str, str]:
        """Of a Parquet file."""
        return {"model": " and ".join(self.models), "corpus": self.corpus, "snapshot": self.snapshot}


def provenance_of(place: Place) -> dict[str, str]:
    """What is on a page, for a file of it: `source` for a reader, `stem` for the end of its name."""
    two = _two(place)
    provenance = Provenance.of(place.snapshot, [one.name for one in ((two.own, two.other) if two else (place.corpus,))])
    source = f"{_models(place, two)} on {provenance.corpus}, snapshot {place.snapshot.id[:8]}"
    return {"source": source, "stem": provenance.stem}


def _two(place: Place) -> Two | None:
    """The models of a page that shows two: Compare, and Statistics where it shows the difference to another model."""
    address = place.address
    if address.page == "compare":
        return two_of(place)
    subtracts = address.page == "statistics" and address.values == "difference"
    return Two(place.corpus, place.snapshot.corpus(address.other)) if subtracts and address.other else None


def _models(place: Place, two: Two | None) -> str:
    """On Statistics only the heat map is of two models."""
    if two is None:
        return str(place.corpus.attributes["model_id"])
    own, other = two.names
    return f"{own} and {other}" if place.address.page == "compare" else f"{own} (differences: minus {other})"
