"""A model of a store as a tree of HeadVis, which its pages show and Neuronpedia's loaders read."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from dashboard.exchange.head_file import head_files
from dashboard.exchange.sample import INTERVALS, LONGEST, OF_EACH, OF_LAST
from dashboard.exchange.terms import Terms
from dashboard.published.folder import SiteFolder
from store import Corpus
from store.headvis import layer_attention
from store.kernels.headvis import DIGITS, INDUCED, KEPT_KEYS, KEPT_WEIGHT, METRICS

#: Share of the work that the metrics are; the rest reads the sampled sentences again.
FIRST_READING = 0.75
#: Histograms and tables of a head, by what they are called in its file: what HeadVis writes over them.
PLOTS = {"qk_distance_histogram": "Distance of query and key, by weight", "histogram": "Largest weight of a sentence"}
TABLES = {"top_query_tokens": "Tokens that attend most", "top_key_tokens": "Tokens attended to most"}
STATISTICS = {"n_samples": "Sampled sentences", "mean_max_activation": "Mean largest weight"}
Told = Callable[[str, float], None]


def write_tree(corpus: Corpus, folder: SiteFolder, sentences: int, terms: Terms, told: Told) -> None:
    """Write the tree of the first sentences of a corpus; `told` is called with what is done now and the finished share."""
    metrics = np.zeros((len(METRICS), corpus.layers, corpus.heads))
    for layer in range(corpus.layers):

        def tell(share: float, layer: int = layer) -> None:
            told(f"Layer {layer} of {corpus.layers}", (layer + FIRST_READING * share) / corpus.layers)

        attention = layer_attention(corpus, layer, sentences, tell)
        metrics[:, layer] = attention.metrics
        for head, content in enumerate(head_files(corpus, layer, attention.largest, seed=0, text=terms.text)):
            folder.write(f"heads/L{layer}H{head}.json", _json(content))
    told("Tree of HeadVis", 1)
    folder.write("scatter_data.json", _json(_rows(metrics)))
    folder.write("config.json", json.dumps(_config(corpus, sentences, terms), indent=2, ensure_ascii=False) + "\n")
    for name in ("server_config.json", "attributions/manifest.json"):
        folder.write(name, "{}\n")


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _rows(metrics: np.ndarray) -> list[dict[str, Any]]:
    """A row of each head; null where no query counts."""
    _, layers, heads = metrics.shape
    rounded = np.round(metrics, DIGITS)
    return [
        {"layer": layer, "head": head}
        | {
            name: None if np.isnan(value) else float(value)
            for name, value in zip(METRICS, rounded[:, layer, head], strict=True)
        }
        for layer, head in np.ndindex(layers, heads)
    ]


def _config(corpus: Corpus, sentences: int, terms: Terms) -> dict[str, Any]:
    return {
        "model_name": terms.model,
        "dataset_name": terms.data,
        "heads": [list(head) for head in np.ndindex(corpus.layers, corpus.heads)],
        "n_layers": corpus.layers,
        "n_heads": corpus.heads,
        "n_intervals": INTERVALS,
        "metrics": list(METRICS),
        "metric_descriptions": dict(METRICS),
        "head_data_pattern": "L{layer}H{head}.json",
        "has_umap": False,
        "umap_heads": [],
        "custom_plots": _titled(PLOTS),
        "custom_tables": _titled(TABLES if terms.text else {}),
        "statistics_display": {name: {"label": label, "format": "default"} for name, label in STATISTICS.items()},
        "pipeline_config": _pipeline(corpus, sentences, terms),
    }


def _titled(labels: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "label": label} for key, label in labels.items()]


def _pipeline(corpus: Corpus, sentences: int, terms: Terms) -> dict[str, Any]:
    """How the numbers were made: the names that Neuronpedia's loaders need first, then what only we know."""
    made, text = corpus.attributes["provenance"], corpus.corpus_attributes
    return {
        "model_name": terms.model,
        "revision": made.get("revision"),
        "dataset_name": terms.data,
        "dataset_split": made["data"].get("split"),
        "dataset_text_field": text.get("text_column"),
        "n_sequences": sentences,
        "actual_sequences_processed": sentences,
        "seq_len": int(text["max_length"]),
        "dtype": str(corpus.attributes["dtype"]),
        "attn_implementation": "headscape",
        "induction_attention_threshold": INDUCED,
        "n_intervals": INTERVALS,
        "samples_per_interval": OF_EACH,
        "samples_per_top_interval": OF_LAST,
        "sparse_topk_per_row": KEPT_KEYS,
        "sparse_threshold": KEPT_WEIGHT,
        "sample_seed": 0,
        "warmup_size": 0,
        "num_hidden_layers": corpus.layers,
        "num_attention_heads": corpus.heads,
        "created_at": datetime.now(UTC).isoformat(),
        "attention": "causal" if corpus.masks[0].causal else "bidirectional",
        "weights_from": "queries and keys stored in float16",
        "longest_sampled": LONGEST,
        "made_by": f"headscape {version('headscape')}",
        **terms.facts,
    }
