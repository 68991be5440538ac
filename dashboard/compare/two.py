"""The two models that are compared, and what of them can be."""

from dataclasses import dataclass

from dashboard.web.view import Place, on_same_corpus
from store import Corpus


@dataclass(frozen=True)
class Two:
    """The model of the link and another one on the same corpus; what is said of both is of the sentences both have."""

    own: Corpus
    other: Corpus

    @property
    def names(self) -> tuple[str, str]:
        """What they are called; by their keys where both have one name."""
        own, other = (str(one.attributes["model_id"]).rstrip("/").rpartition("/")[2] for one in (self.own, self.other))
        return (own, other) if own != other else (self.own.name, self.other.name)

    @property
    def sentences(self) -> int:
        """How many sentences both were run on: the first of the corpus."""
        return min(self.own.n_sentences, self.other.n_sentences)

    @property
    def tokens(self) -> int:
        """Tokens of these sentences."""
        return min(self.own.n_tokens, self.other.n_tokens)

    @property
    def same_heads(self) -> bool:
        """Whether every head has a counterpart in the same layer with the same number."""
        return (self.own.layers, self.own.heads) == (self.other.layers, self.other.heads)

    @property
    def same_size(self) -> bool:
        """Whether hidden vectors have as many features."""
        return hidden_size(self.own) == hidden_size(self.other)

    def differences(self) -> list[str]:
        """A sentence on everything that cannot be compared because the models are of different shapes."""
        return [*self._of_heads(), *self._of_size()]

    def _of_heads(self) -> list[str]:
        if self.same_heads:
            return []
        (one, two), names = (f"{one.layers} layers of {one.heads} heads" for one in (self.own, self.other)), self.names
        return [
            f"{names[0]} has {one}, {names[1]} {two}: their heads have no counterparts, so no two heads are compared. Below are means over all "
            "heads and feature points; each model's own heads are on its other pages."
        ]

    def _of_size(self) -> list[str]:
        if self.same_size:
            return []
        one, two = hidden_size(self.own), hidden_size(self.other)
        return [
            f"Hidden vectors have {one} and {two} features: there is no cosine between them. CKA needs no equal sizes."
        ]


def two_of(place: Place) -> Two | None:
    """Those of a link: without `other` the one ingested last on the same corpus; None where there is none."""
    there = on_same_corpus(place.snapshot, place.corpus)
    other = place.address.other or next(iter(there), None)
    return Two(place.corpus, place.snapshot.corpus(other)) if other else None


def pictures_of(place: Place, two: Two) -> str:
    """Of what there are pictures in both: of heads where these have counterparts, else of feature points alone."""
    return place.address.pictures if two.same_heads else "point"


def hidden_size(corpus: Corpus) -> int:
    """Features of a hidden vector."""
    return int(corpus.attributes["config"]["hidden_size"])
