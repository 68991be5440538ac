"""What the sentences of a corpus depend on: its identity, of which its key is a hash."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError
from ingest.run.settings import AUTO, NONE, Settings
from ingest.text.blocks import short_key
from ingest.text.reviews import Data, Reviews
from ingest.text.rules import BY_SCRIPT, LINES, NOT_SPLIT, NUPUNKT, PASSAGES, TEXTS, TEXTS_LOOKED_AT, splitter_of
from store.repository.writer import Writer
from store.schema.array import BLOCK

#: Of a corpus whose splitter was chosen by the scripts of its texts; one from before may hold whole texts.
SCRIPTS_KNOWN = {"scripts_known": True}


def corpus_identity(
    writer: Writer, settings: Settings, data: Data, checkpoint: Checkpoint, read: Callable[[], Reviews]
) -> dict[str, Any]:
    """What the sentences of a corpus depend on.

    Where the settings leave open what splits the texts, the texts tell it; of a corpus that the store holds they need not be read.
    """
    split = partial(_identity_of, settings, data, checkpoint)
    if data.is_treebank or data.has_mentions:
        return split(NOT_SPLIT if data.is_treebank else PASSAGES)
    if settings.sentence_split != AUTO:
        return split(TEXTS if settings.sentence_split == NONE else LINES)
    groups, keys = writer.group("corpus"), {each: short_key(data.name, split(each)) for each in (BY_SCRIPT, NUPUNKT)}
    held = {each: dict(groups[key].attrs) for each, key in keys.items() if key in groups}
    for each, attributes in held.items():
        if attributes.items() >= SCRIPTS_KNOWN.items():
            return split(each)
    try:
        texts = read().some_texts(TEXTS_LOOKED_AT)
    except IngestError:
        if NUPUNKT not in held:
            raise
        return split(NUPUNKT)  # a store from before, whose data is out of reach
    return split(splitter_of(texts))


def _identity_of(settings: Settings, data: Data, checkpoint: Checkpoint, splitter: str) -> dict[str, Any]:
    return {
        "data_identity": data.identity,
        "text_column": settings.text,
        "label_column": settings.label,
        "splitter": splitter,
        "max_length": settings.max_length,
        "seed": settings.seed,
        "tokenizer_sha256": checkpoint.tokenizer_sha256,
        "block": BLOCK,
        "order": "sentences sorted by the content hash: every prefix is a uniform sample",
    }
