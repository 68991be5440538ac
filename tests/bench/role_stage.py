"""Processor time of the stage of rules and roles by its parts: `STORE=... python -m tests.bench role_stage`."""

import cProfile
import os
import pstats
from collections.abc import Iterator
from time import process_time

import numpy as np

from ingest.heads.layer_roles import HEADS_AT_ONCE, QueriesAndKeys, RuleBench
from store import Corpus, open_corpus
from store.kernels.head_tables import HeadTables, TableSums
from store.rules import token_rows
from store.schema.model import ROLES
from tests.bench.table import show

#: Functions in the table, those of a layer first; tokens that are read at once, as many as in a block.
PARTS = ("_rules", "choose", "_all_rules", "scores", "_variance", "_roles", "fit_mixture", "_rand_index", "_biases")
AT_ONCE = 8_192


def role_stage(place: str) -> None:
    """Print a row for each part: seconds of processor time of all layers (or the first LAYERS), from the stored vectors.

    Seconds of functions come from a profile, which slows them a little.
    """
    corpus = open_corpus(place)
    begin = process_time()
    bench = _bench(corpus)
    spent = {"text of the sentences": process_time() - begin, "reading, tables": 0.0, "rules, roles, biases": 0.0}
    profile = cProfile.Profile(process_time)
    layers = range(int(os.environ.get("LAYERS", corpus.layers)))
    for layer in layers:
        begin = process_time()
        vectors, tables = _read(corpus, bench, layer)
        spent["reading, tables"] += process_time() - begin
        begin = process_time()
        for first in range(0, corpus.heads, HEADS_AT_ONCE):
            with profile:
                bench._group(vectors, tables, None, slice(first, first + HEADS_AT_ONCE))
        spent["rules, roles, biases"] += process_time() - begin
    calls = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    inside = {name: sum(each[3] for (_, _, own), each in calls.items() if own == name) for name in PARTS}
    rows = [(name, f"{seconds:.1f}") for name, seconds in (spent | inside).items()]
    rows.append(("all", f"{sum(spent.values()):.1f}"))
    show(f"{corpus.title}, {len(layers)} layers of {corpus.heads} heads", ("part", "seconds"), rows)


def _bench(corpus: Corpus) -> RuleBench:
    """The rule bench of a corpus, with all parts that follow from the text of its sentences computed."""
    sentences = corpus.rule_sentences
    tokens = [corpus.rule_text.sentence(int(sentence)) for sentence in sentences.every]
    seed = int(corpus.attributes["provenance"]["settings"]["seed"])
    bench = RuleBench(sentences, tokens, corpus.has_words, seed)
    for name in ("fit_library", "judged_features", "judge", "fit_roles", "judged_roles", "sink_entries", "sieves"):
        getattr(bench, name)
    return bench


def _read(corpus: Corpus, bench: RuleBench, layer: int) -> tuple[list[QueriesAndKeys], HeadTables]:
    """Queries and keys of each sentence of the bench, and the tables of all heads of a layer."""
    token_ids = np.unique(np.concatenate([each.token_id for each in bench.tokens]))
    positions = int(corpus.sentences.row_size.values.max())
    sums = TableSums(token_ids, positions, corpus.heads, corpus.query.shape[-1])
    wanted: dict[int, QueriesAndKeys] = {}
    for first, stop in _blocks(corpus):
        start, end = corpus.sentence_rows(first).start, corpus.sentence_rows(stop - 1).stop
        query, key = (getattr(corpus, role).variable[layer, :, start:end].values.astype(np.float32) for role in ROLES)
        tabled = bench.sentences.in_tables
        rows, tokens = token_rows(corpus, tabled[(tabled >= first) & (tabled < stop)])
        sums.add(query[:, rows - start], key[:, rows - start], tokens)
        for sentence in bench.sentences.every[(bench.sentences.every >= first) & (bench.sentences.every < stop)]:
            span = corpus.sentence_rows(int(sentence))
            own = slice(span.start - start, span.stop - start)
            wanted[int(sentence)] = query[:, own].copy(), key[:, own].copy()
    return [wanted[int(sentence)] for sentence in bench.sentences.every], sums.tables()


def _blocks(corpus: Corpus) -> Iterator[tuple[int, int]]:
    """First sentence of each block, and the sentence after its last."""
    block = (np.cumsum(corpus.sentences.row_size.values[: corpus.n_sentences]) - 1) // AT_ONCE
    firsts = np.flatnonzero(np.diff(block, prepend=-1)).tolist()
    yield from zip(firsts, [*firsts[1:], corpus.n_sentences], strict=True)
