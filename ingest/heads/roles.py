"""Stage `roles`: how well rules of the text explain each head, its roles, and the biases that their tests take.

Everything is recomputed from the stored queries and keys, layer by layer, and runs no model. Where the weights of the model are at
hand, the biases with random weights are computed too, on the sentences of the fit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from math import prod
from typing import Any

import numpy as np
import torch
import zarr
from numpy.typing import NDArray

from ingest.encode.hooked_model import HookedModel
from ingest.encode.sample import take_sentences
from ingest.encode.tensors import ModelGroup
from ingest.heads.layer_roles import QueriesAndKeys, Results, RuleBench
from ingest.run.checkpoint import Checkpoint
from ingest.run.cluster import Cluster, in_turn
from ingest.run.parallel import side_by_side
from ingest.run.progress import bar
from ingest.run.settings import Limits
from ingest.text.blocks import Block, PlannedCorpus, content_hash, group_by_length, make_batches
from ingest.words.patterns import BATCH_TOKENS, randomize
from store.bias import read_bias
from store.kernels.attention import attention_pattern
from store.kernels.bias import Mask, masks_of
from store.kernels.head_tables import PARTS, TableSums, TokenRows
from store.kernels.rule_fit import MOST_RULES
from store.process import one_thread
from store.repository.arrays import Groups, array_of, create_arrays, read_vectors
from store.repository.writer import Writable, Writer
from store.rules import RuleSentences, RuleText, token_rows
from store.schema.corpus import DRAFT_ARRAYS, ROLE_ARRAYS, ROLE_HALVES, RULE_SETS
from store.schema.model import BOUNDS, ROLES
from store.text import CorpusText

VERSION, RANDOM_VERSION = "roles/2", "roles with random weights/1"
#: Arrays that are written layer by layer.
OF_LAYER = [
    name for name, array in ROLE_ARRAYS.items() if "layer" in array.dims and name not in ("layer", "random_bias")
]


@dataclass(frozen=True)
class BlockSentences:
    """The rows of a block that roles are computed from.

    Attributes
    ----------
    rows
        Rows of the token axis up to the last that is needed.
    tabled, tokens
        Rows within the block of the sentences that tables are made of, and the tokens in these rows.
    spans
        Rows within the block of each sentence of the bench, by the sentence's place there.
    """

    rows: slice
    tabled: NDArray[np.int64]
    tokens: TokenRows
    spans: Mapping[int, slice]


@dataclass(frozen=True)
class RoleTask:
    """Computes the roles of a layer. It can be sent to a worker, which reads the vectors itself.

    Attributes
    ----------
    path
        Group of the model.
    benches
        Bench of each layer; layers whose queries see the same keys share one.
    blocks
        Rows of each block that are read.
    positions
        Tokens of the longest sentence.
    """

    path: str
    benches: Sequence[RuleBench]
    blocks: list[BlockSentences]
    positions: int

    @property
    def bench(self) -> RuleBench:
        """Bench of the first layer: sentences and names of rules are the same in all layers."""
        return self.benches[0]

    def __call__(self, store: Writable, layer: int) -> Results:
        """Arrays of `ROLE_ARRAYS` of a layer, without their dim `layer`."""
        source = store.group(self.path)
        _, heads, _, channels = array_of(source, "query").shape
        token_ids = np.unique(np.concatenate([tokens.token_id for tokens in self.bench.tokens]))
        sums = TableSums(token_ids, self.positions, heads, channels)
        vectors: dict[int, QueriesAndKeys] = {}
        for block in self.blocks:
            query, key = (read_vectors(source, role, layer, block.rows) for role in ROLES)
            if len(block.tabled):
                sums.add(query[:, block.tabled], key[:, block.tabled], block.tokens)
            vectors |= {place: (query[:, span].copy(), key[:, span].copy()) for place, span in block.spans.items()}
        with one_thread("blas"):  # several threads would add up a product in another order
            tables = sums.tables()
        of_sentences = [vectors[place] for place in range(len(vectors))]
        return self.benches[layer].layer(of_sentences, tables, read_bias(source, layer))


def update_roles(
    writer: Writer,
    model: ModelGroup,
    corpus: PlannedCorpus,
    checkpoint: Checkpoint,
    device: torch.device,
    seed: int,
    limits: Limits,
    cluster: Cluster | None = None,
) -> bool:
    """Bring the roles up to date, with a commit per layer; False if there was nothing to do."""
    if not limits.rule_fit_sentences:
        return False
    lengths = np.concatenate([block.lengths for block in corpus.blocks])
    sentences = RuleSentences.choose(
        lengths,
        fitted=limits.rule_fit_sentences,
        judged=limits.rule_judged_sentences,
        weights=limits.rule_weights,
        table_tokens=limits.table_tokens,
    )
    needed = max(sentences.tabled, int(sentences.every.max()) + 1)
    blocks = [block for block in corpus.blocks if block.first_sentence < needed]
    words, mentions = (_attributes(writer, corpus, name) for name in ("words", "mentions"))
    annotated = int(words.get("sentences", 0)) >= corpus.sentences
    identity = {
        "words": words.get("identity") if annotated else None,
        "mentions": mentions,
        "sentences": [sentences.fitted.tolist(), sentences.judged.tolist(), sentences.tabled],
        "seed": seed,
    }
    masks = _masks(writer, model, int(lengths[sentences.every].max()))
    # Only with windows: the hashes of other models are as they were before windows were regarded.
    if any(mask.window is not None for mask in masks):
        identity["masks"] = [astuple(mask) for mask in masks]
    hashes = np.array([model.block_hash(block) for block in blocks], np.uint64)
    hash_ = content_hash(identity | {"version": VERSION}, hashes)
    group = writer.group(f"{model.path}/roles")
    if group.attrs.get("roles_hash") == str(hash_):
        return False
    task = _make_task(writer, model, corpus, blocks, sentences, masks, seed)
    _compute_layers(writer, model, task, hash_, cluster)
    random = _random_biases(checkpoint, corpus, task.benches, device, limits)
    facts = {"roles_hash": str(hash_)} | ({"annotation": words["identity"]} if annotated else {})
    _complete(writer, model, task, random, facts)
    return True


def _attributes(writer: Writer, corpus: PlannedCorpus, name: str) -> dict[str, Any]:
    """Attributes of a group of the corpus; empty where the corpus lacks the group."""
    groups = dict(writer.group(f"corpus/{corpus.key}").groups())
    return dict(groups[name].attrs) if name in groups else {}


def _make_task(
    writer: Writer,
    model: ModelGroup,
    corpus: PlannedCorpus,
    blocks: list[Block],
    sentences: RuleSentences,
    masks: Sequence[Mask],
    seed: int,
) -> RoleTask:
    sizes = {"sentences": corpus.sentences, "tokens": corpus.tokens}
    counted = {f"counted_{name}": size for name, size in sizes.items()}
    text = CorpusText(Groups(writer.committed), corpus.key, **sizes, **counted)
    of_rules = RuleText(text, sentences.tabled)
    tokens = [of_rules.sentence(int(sentence)) for sentence in sentences.every]
    benches = {
        mask: RuleBench(sentences, [replace(each, mask=mask) for each in tokens], text.has_words, seed)
        for mask in dict.fromkeys(masks)
    }
    positions = int(max(block.lengths.max() for block in blocks))
    read = list(_block_sentences(text, blocks, sentences))
    return RoleTask(model.path, [benches[mask] for mask in masks], read, positions)


def _masks(writer: Writer, model: ModelGroup, tokens: int) -> list[Mask]:
    """Mask of the keys that the queries of each layer see, in sentences of at most `tokens` tokens."""
    group = writer.group(model.path)
    layers = array_of(group, "query").shape[0]
    return [mask.within(tokens) for mask in masks_of(read_bias(group), layers)]


def _block_sentences(text: CorpusText, blocks: list[Block], sentences: RuleSentences) -> Iterator[BlockSentences]:
    """The rows of each block that roles are computed from."""
    places = {int(sentence): place for place, sentence in enumerate(sentences.every)}
    tabled = sentences.in_tables
    for block in blocks:
        first, stop = block.first_sentence, block.first_sentence + block.sentences
        rows, tokens = token_rows(text, tabled[(tabled >= first) & (tabled < stop)])
        spans = {place: text.sentence_rows(sentence) for sentence, place in places.items() if first <= sentence < stop}
        start = block.rows.start
        local = {place: slice(span.start - start, span.stop - start) for place, span in spans.items()}
        yield BlockSentences(slice(start, start + block.tokens), rows - start, tokens, local)


# -- layer by layer -----------------------------------------------------------------------------------


def _draft(writer: Writer, model: ModelGroup) -> zarr.Group:
    """The group of a run that may not be finished: readers have the numbers of the run before."""
    return writer.group(f"{model.path}/roles/draft")


def _compute_layers(writer: Writer, model: ModelGroup, task: RoleTask, hash_: int, cluster: Cluster | None) -> None:
    """Compute the layers that are not done yet, and commit each."""
    draft, sizes = _draft(writer, model), _sizes(writer, task)
    if draft.attrs.get("roles_hash") != str(hash_):
        writer.delete(draft.path)
        draft = _draft(writer, model)
        create_arrays(draft, DRAFT_ARRAYS, {"layer": sizes["layer"], "number": sum(map(prod, _shapes(sizes).values()))})
        draft.attrs["roles_hash"] = str(hash_)
        writer.commit(f"room for roles of {model.key}")
    done = np.asarray(array_of(draft, "layer_hash")[:]) == np.uint64(hash_)
    with bar("roles", total=len(done), unit="layers", done=int(done.sum())) as progress:
        for layer, results in in_turn(cluster, writer, task, np.flatnonzero(~done).tolist()):
            flat = [results[name].reshape(-1).astype(np.float64) for name in OF_LAYER]
            array_of(draft, "numbers")[layer] = np.concatenate(flat)
            array_of(draft, "layer_hash")[layer] = np.uint64(hash_)
            writer.commit(f"{model.key}: roles of layer {layer}")
            progress.update()


def _computed(draft: zarr.Group, sizes: Mapping[str, int]) -> dict[str, NDArray[np.float64]]:
    """The arrays of all layers by name."""
    numbers, shapes = np.asarray(array_of(draft, "numbers")[:]), _shapes(sizes)
    parts = np.split(numbers, np.cumsum([prod(shape) for shape in shapes.values()])[:-1], axis=1)
    return {
        name: np.moveaxis(part.reshape(len(numbers), *shape), 0, ROLE_ARRAYS[name].dims.index("layer"))
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def _shapes(sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Shape of each array of a layer."""
    return {name: tuple(sizes[dim] for dim in ROLE_ARRAYS[name].dims if dim != "layer") for name in OF_LAYER}


def _labels(writer: Writer, task: RoleTask) -> dict[str, Any]:
    """Values along every dim that has labels."""
    layers, heads = array_of(writer.group(task.path), "query").shape[:2]
    return task.bench.labels | {
        "layer": range(layers),
        "head": range(heads),
        "rules": list(RULE_SETS),
        "part": list(PARTS),
        "half": list(ROLE_HALVES),
        "bound": list(BOUNDS),
        "sentence": task.bench.sentences.every,
        "judged": task.bench.sentences.is_judged,
    }


def _sizes(writer: Writer, task: RoleTask) -> dict[str, int]:
    return {name: len(values) for name, values in _labels(writer, task).items()} | {"place": MOST_RULES}


def _complete(
    writer: Writer, model: ModelGroup, task: RoleTask, random: NDArray[np.float16] | None, facts: dict[str, Any]
) -> None:
    """Write the arrays that readers read, at once."""
    draft, sentences = _draft(writer, model), task.bench.sentences
    sizes = _sizes(writer, task)
    written = _labels(writer, task) | _computed(draft, sizes)
    if random is not None:
        sizes["random_sentence"] = random.shape[2]
        written |= {"random_bias": random, "random_sentence": sentences.fitted[: random.shape[2]]}
    writer.delete(f"{model.path}/roles")  # with the draft; roles of grammar may have been added since
    group = writer.group(f"{model.path}/roles")
    create_arrays(group, {name: ROLE_ARRAYS[name] for name in ROLE_ARRAYS if name in written}, sizes)
    for name, values in written.items():
        array_of(group, name)[:] = np.array(values, object if ROLE_ARRAYS[name].dtype == "str" else None)
    group.attrs.update(
        {
            "fitted_sentences": len(sentences.fitted),
            "judged_sentences": len(sentences.judged),
            "held_out": sentences.held_out,
            "tabled": sentences.tabled,
            "version": VERSION,
            **facts,
        }
    )
    writer.commit(f"{model.key}: roles on {len(sentences.judged):,} sentences")


# -- random weights -----------------------------------------------------------------------------------


def _random_biases(
    checkpoint: Checkpoint, corpus: PlannedCorpus, benches: Sequence[RuleBench], device: torch.device, limits: Limits
) -> NDArray[np.float16] | None:
    """Sieve biases (layer, head, sentence, sieve) with random weights, in the first sentences of the fit.

    Returns None where the weights of the model are not on this machine.
    """
    chosen = benches[0].sentences.fitted[: limits.random_sentences]
    if checkpoint.place is None or not len(chosen):
        return None
    hooked = HookedModel(checkpoint, device=device, dtype=torch.float32)
    randomize(hooked.parts.encoder, hooked.config.initializer_range, benches[0].seed)
    block, bias = take_sentences(corpus, chosen), hooked.bias
    patterns: list[list[NDArray[np.float32]]] = [[] for _ in chosen]

    def run(batch: int) -> None:
        padded, group = batches[batch], groups[batch]
        real = torch.from_numpy(padded.real).to(device)
        capture = hooked.run(torch.from_numpy(padded.token_ids).to(device), real)
        for number, layer in enumerate(zip(capture.query, capture.key, strict=True)):
            query, key = (each.float().transpose(1, 2).cpu().numpy() for each in layer)
            of_layer = bias and bias.part(number)
            for place, sentence in enumerate(group):
                tokens = int(block.lengths[sentence])
                own = query[place, :, :tokens], key[place, :, :tokens]
                patterns[sentence].append(attention_pattern(*own, bias=of_layer))

    batches, groups = make_batches(block, tokens=BATCH_TOKENS), group_by_length(block.lengths, tokens=BATCH_TOKENS)
    with bar("random roles", total=block.tokens, unit="tokens") as progress:
        side_by_side(run, range(len(batches)))
        progress.update(block.tokens)
    return np.stack([bench.biases([each[layer] for each in patterns]) for layer, bench in enumerate(benches)])
