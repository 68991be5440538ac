"""The checkpoint that a corpus was made with: its description in the store, and the search for it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dashboard.web.errors import Refusal
from store import Corpus
from store.process import missing_packages

if TYPE_CHECKING:
    from ingest.run.checkpoint import Checkpoint


@dataclass(frozen=True)
class CorpusModel:
    """Description of a corpus's checkpoint from the store; attributes that the store does not know are None.

    Attributes
    ----------
    key, model_id
        Key of the model in the store, and its name.
    source
        The argument MODEL of the ingest.
    max_length
        Most wordpieces of a text that are read: the length of the longest sentence of the corpus.
    dtype
        The dtype of the matrix products.
    revision
        Revision of a model of the hub, which may have a newer revision by now.
    """

    key: str
    model_id: str
    source: str | None
    weights_sha256: str
    tokenizer_sha256: str | None
    max_length: int
    dtype: str
    revision: str | None = None

    @classmethod
    def of(cls, corpus: Corpus) -> "CorpusModel":
        """Description of the checkpoint of an opened corpus."""
        provenance = corpus.attributes.get("provenance", {})
        return cls(
            key=corpus.name,
            model_id=corpus.title,
            source=provenance.get("settings", {}).get("model"),
            weights_sha256=str(corpus.attributes["weights_sha256"]),
            tokenizer_sha256=provenance.get("tokenizer_sha256"),
            max_length=int(corpus.corpus_attributes["max_length"]),
            dtype=str(corpus.attributes["dtype"]),
            revision=provenance.get("revision"),
        )

    def cut_at(self, max_length: int) -> "CorpusModel":
        """The description with another limit of wordpieces of a text."""
        return replace(self, max_length=max_length)

    @property
    def checkpoint(self) -> "CorpusModel":
        """The description without a limit: equal for all that `cut_at` makes, as they are one model in memory."""
        return self.cut_at(0)


def runs_models() -> bool:
    """Whether the packages that run a model are installed."""
    return not missing_packages("ingest")


def find_checkpoint(model: CorpusModel) -> "Checkpoint":
    """The checkpoint that the corpus was made with, and no other."""
    from ingest.run import checkpoint as checkpoints
    from ingest.run.errors import IngestError

    if model.source is None:
        raise IngestError("The store does not say where its model is.")
    is_on_hub = checkpoints.is_commit(model.revision or "")
    checkpoint = checkpoints.find_checkpoint(
        f"{model.source.partition('@')[0]}@{model.revision}" if is_on_hub else model.source
    )
    if (checkpoint.weights_sha256, checkpoint.tokenizer_sha256) != (model.weights_sha256, model.tokenizer_sha256):
        raise Refusal(
            f"The checkpoint of {model.model_id} differs from the one this store was made with. Put that one back, or run "
            "`headscape ingest` again.",
            503,
        )
    return checkpoint
