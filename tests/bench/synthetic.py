"""A store of any shape with random queries and keys, and pictures by the real stage. For speed, not for science."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ingest.encode.encoder import PER_BLOCK, PER_TOKEN, SQUARES, Shape
from ingest.encode.sample import split_sentences
from ingest.encode.tensors import ModelGroup, complete, create_model_arrays
from ingest.heads.divergence import write_intervals
from ingest.pipeline import draw
from ingest.projections.head_pictures import pending_pictures
from ingest.projections.head_view import HeadVectors
from ingest.projections.normalizations import normalize_corpus
from ingest.run.checkpoint import find_checkpoint
from ingest.run.settings import EVERY, Settings
from ingest.text.blocks import Block, PlannedCorpus
from ingest.text.corpus import prepare_corpus
from ingest.text.reviews import find_data
from ingest.words.annotate import annotate
from ingest.words.patterns import find_strongest_words, read_words
from ingest.words.relations import Relations, _counted, _offsets, _write
from store.repository.arrays import array_of, write_block
from store.repository.writer import Writer, open_writer
from store.schema import BLOCK
from store.schema.model import MODEL_ARRAYS, ROLES
from store.schema.pictures import ViewName

VIEW = ViewName("pca", "exact", 2)


def make_store(place: Path, *, layers: int, heads: int, channels: int, words: bool = False, **chosen: Any) -> str:
    """Write a store of this shape; returns its address. `chosen` are settings of an ingest, such as tokens or data.

    All tokens have vectors, unless `vectors` is chosen. With `words` the real stages annotate the store; relations have no
    counts with random weights.
    """
    settings = Settings(store=str(place), **({"vectors": EVERY} | chosen))
    checkpoint, data = find_checkpoint(settings.model), find_data(settings.data)
    with open_writer(settings.store) as writer:
        counted = prepare_corpus(writer, settings, data, checkpoint)
        counted = counted.with_vectors_of(settings.vector_tokens, sentences=0)
        corpus = counted.stored
        identity = {
            "corpus": corpus.key,
            "model_id": "synthetic",
            "weights_sha256": "none",
            "config": {},
            "dtype": "float16",
            "attention": "random",
        }
        model = ModelGroup(f"synthetic-{layers}x{heads}x{channels}", identity)
        _write_model(writer, model, counted, Shape(layers, heads, channels, BLOCK, settings.max_length))
        provenance: dict[str, Any] = {
            "settings": {"seed": settings.seed},
            "revision": "none",
            "tokenizer_sha256": "none",
            "data": {},
            "device": "none",
            "batch_tokens": 0,
            "python": "",
            "versions": {},
        }
        writer.group(model.path).attrs["provenance"] = provenance
        split = split_sentences(corpus)
        normalize_corpus(writer, model, corpus, split)
        head_vectors = HeadVectors(writer, model, corpus, split, seed=0, device="cpu")
        list(draw(writer, pending_pictures(writer, head_vectors, [VIEW])))
        if words:
            annotate(writer, corpus, settings, data, checkpoint)
            find_strongest_words(writer, model, corpus)
            _write_relations(writer, model, corpus)
        if corpus.sentences < counted.sentences:
            write_intervals(writer, model, counted, seed=settings.seed)
        complete(writer, model, counted, views=[str(VIEW)])
        writer.publish("synthetic")
    return settings.store


def _write_model(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, shape: Shape) -> None:
    group = writer.group(model.path)
    create_model_arrays(group, shape, blocks=len(corpus.blocks), stored=len(corpus.stored.blocks))
    group.attrs.update(model.identity)
    random = np.random.default_rng(0)
    array_of(group, "expansion_rate")[:] = random.random(shape.layers)
    for block in corpus.blocks:
        _write_block(writer, model, block, random)


def _write_block(writer: Writer, model: ModelGroup, block: Block, random: np.random.Generator) -> None:
    group = writer.group(model.path)
    for name in PER_TOKEN if block.vectors else ():
        array = array_of(group, name)
        axis = MODEL_ARRAYS[name].dims.index("token")
        shape = (*array.shape[:axis], BLOCK, *array.shape[axis + 1 :])
        values = (
            np.abs(random.standard_normal(shape, np.float32))
            if name not in ROLES
            else random.standard_normal(shape, np.float32)
        )
        write_block(array, values.astype(np.float16), block=block.index)
    for name in PER_BLOCK:
        array = array_of(group, name)
        counted = name in ("block_count", "block_tokens_at")
        array[block.index] = block.sentences * (1 if counted else random.random(array.shape[1:]))
    for name in SQUARES if SQUARES[0] in group else ():
        array_of(group, name)[block.index] = block.sentences
    array_of(group, "task_hash")[block.index] = np.uint64(model.block_hash(block))
    writer.commit(f"block {block.index}")


def _write_relations(writer: Writer, model: ModelGroup, corpus: PlannedCorpus) -> None:
    group, source = (writer.group(path) for path in (f"{model.path}/relations", f"corpus/{corpus.key}/words"))
    relations = Relations.of(read_words(writer, corpus), corpus.sentences)
    counted = _counted(writer.group(f"{model.path}/words"), source, corpus, relations, 0)
    random = {"random_linked": np.zeros_like(counted["linked"]), "random_pairs": np.zeros_like(counted["pairs"])}
    _write(group, relations, counted | random | _offsets(relations))
    group.attrs.update({"relations_hash": "synthetic", "annotation": dict(source.attrs)["identity"]})


def temporary_store(*, layers: int, heads: int, channels: int, **chosen: Any) -> str:
    """A synthetic store in a temporary folder; `chosen` as in `make_store`."""
    return make_store(Path(tempfile.mkdtemp()) / "store", layers=layers, heads=heads, channels=channels, **chosen)
