"""The stages in order, each only where there is something to do, and the publication at the end."""

import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ingest.blocks import short_key
from ingest.checkpoint import Checkpoint, find_checkpoint
from ingest.corpus import PlannedCorpus, prepare_corpus, stored_corpus
from ingest.errors import IngestError
from ingest.pairs import find_pairs
from ingest.projections import VIEW, project_corpus
from ingest.reviews import Data, find_data
from ingest.settings import Settings
from ingest.tensors import ATTENTION, ModelGroup, complete, encode_corpus, pending_blocks
from store.writer import Writer, open_writer

if TYPE_CHECKING:
    from ingest.encoder import Encoder


def run(settings: Settings) -> None:
    """Ingest as asked; what is already in the store is not computed again."""
    checkpoint, data = find_checkpoint(settings.model), find_data(settings.data)
    _check_length(settings, checkpoint)
    with open_writer(settings.store) as writer:
        corpus = prepare_corpus(writer, settings, data, checkpoint)
        model, changed = _bring_up_to_date(writer, settings, checkpoint, data, corpus)
        if not changed and not writer.unpublished:
            say(f"Nothing to do: {settings.store} holds {model.key} with {_held(writer, model)}.")
            return
        snapshot = writer.publish(f"{checkpoint.name} on {data.name}: {_held(writer, model)}")
    say(f"Published {model.key} with {_held(writer, model)} in {settings.store} as snapshot {snapshot}.")


def _bring_up_to_date(
    writer: Writer, settings: Settings, checkpoint: Checkpoint, data: Data, corpus: PlannedCorpus
) -> tuple[ModelGroup, bool]:
    """The stages that follow the sentences; says whether any had something to do."""
    from ingest.bert import Bert, find_device, find_dtype

    device = find_device(settings.device)
    dtype = find_dtype(settings.dtype, device)
    model = _model_group(checkpoint, corpus, dtype=str(dtype).removeprefix("torch."))
    held = int(str(writer.group(model.path).attrs.get("sentences", 0)))
    if held > corpus.sentences:
        # What is held is never made smaller; if its ingest was killed before the pictures, they are finished now.
        corpus = stored_corpus(writer, corpus.key, held)
    blocks = pending_blocks(writer, model, corpus)
    if blocks:
        from ingest.encoder import Encoder

        encoder = Encoder(Bert(checkpoint, device=device, dtype=dtype), batch_tokens=settings.batch)
        writer.group(model.path).attrs["provenance"] = _provenance(settings, checkpoint, data, encoder)
        encode_corpus(writer, model, corpus, blocks, encoder)
    projected = project_corpus(writer, model, corpus)
    paired = find_pairs(writer, model, corpus)  # the last before `complete`, which commits what it found
    changed = bool(blocks) or projected or paired or held < corpus.sentences
    if changed:
        complete(writer, model, corpus, views=[VIEW])
    return model, changed


def _check_length(settings: Settings, checkpoint: Checkpoint) -> None:
    longest = int(checkpoint.config.get("max_position_embeddings", settings.max_length))
    if settings.max_length > longest:
        raise IngestError(f"{checkpoint.name} reads at most {longest} wordpieces. Give MAX_LENGTH={longest} or less.")


def _model_group(checkpoint: Checkpoint, corpus: PlannedCorpus, *, dtype: str) -> ModelGroup:
    identity = {
        "corpus": corpus.key,
        "model_id": checkpoint.name,
        "weights_sha256": checkpoint.weights_sha256,
        "config": checkpoint.config,
        "dtype": dtype,
        "attention": ATTENTION,
    }
    return ModelGroup(short_key(checkpoint.name, identity), identity)


def _provenance(settings: Settings, checkpoint: Checkpoint, data: Data, encoder: "Encoder") -> dict[str, Any]:
    """What else a reader may want to know of how the numbers came about."""
    return {
        "settings": asdict(settings),
        "revision": checkpoint.revision,
        "tokenizer_sha256": checkpoint.tokenizer_sha256,
        "data": asdict(data),
        "device": str(encoder.bert.device),
        "batch_tokens": encoder.batch_tokens,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("headscape", "torch", "transformers", "zarr", "icechunk")},
    }


def _held(writer: Writer, model: ModelGroup) -> str:
    attributes = writer.group(model.path).attrs
    return f"{attributes['sentences']:,} sentences ({attributes['tokens']:,} tokens)"


def say(sentence: str) -> None:
    """Tell the person at the terminal."""
    print(sentence, flush=True)
