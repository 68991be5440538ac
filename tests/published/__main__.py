"""`python -m tests.published [MODEL]`: bert-base-uncased beside the published numbers; exit status 0 where they agree,
1 where they do not, 2 where nothing was checked."""

import sys

import numpy as np
import torch
from numpy.typing import NDArray

from ingest.encode.bert import Bert, find_device
from ingest.run.checkpoint import Checkpoint, find_checkpoint
from ingest.run.errors import IngestError
from ingest.run.settings import EMBEDDED
from ingest.text.reviews import find_data, read_reviews
from ingest.text.tokenizer import Tokenizer
from tests.bench.table import show
from tests.published.curves import agrees, head_statistics, heads_above, layer_curves, table_rows
from tests.published.segments import TOKENS, review_segments
from tests.published.targets import CURVES, EXPANSION_RATE, HEADS, LAYERS, UNIFORM_ENTROPY, Target

MODEL = "bert-base-uncased"
#: As many as Clark et al. had.
SEGMENTS = 992
AGREES, DIFFERS, NOT_CHECKED = 0, 1, 2


def main(arguments: list[str]) -> int:
    """Exit status; where the model cannot be had, one sentence says so."""
    model = next((argument for argument in arguments if argument), MODEL)
    try:
        return check(comparable_checkpoint(model))
    except IngestError as error:
        print(f"The published numbers were not checked. {error}", file=sys.stderr)
        return NOT_CHECKED


def comparable_checkpoint(model: str) -> Checkpoint:
    """The checkpoint, if it can be the published one."""
    checkpoint = find_checkpoint(model)
    layers, heads = (int(checkpoint.config.get(name, 0)) for name in ("num_hidden_layers", "num_attention_heads"))
    if (layers, heads) != (LAYERS, HEADS):
        raise IngestError(
            f"They are of {MODEL} with {LAYERS} layers x {HEADS} heads, {checkpoint.name} has {layers} x {heads}. "
            f"Give MODEL={MODEL} or a folder with it."
        )
    return checkpoint


def check(checkpoint: Checkpoint, *, segments: int = SEGMENTS) -> int:
    """Print both tables."""
    bert = Bert(checkpoint, device=find_device("auto"), dtype=torch.float32)
    rates = {"expansion_rate": np.array(bert.expansion_rates())}
    print(f"Expansion rates of {checkpoint.name}; layers are numbered from 1 as in the papers.")
    _show("Kobayashi et al. 2021", {"expansion_rate": EXPANSION_RATE}, rates)
    reviews = read_reviews(find_data(EMBEDDED), text="text", label="label")
    tokenizer = Tokenizer(checkpoint.folder, max_length=int(checkpoint.config["max_position_embeddings"]))
    blocks = review_segments(reviews, tokenizer, count=segments, seed=0)
    statistics = head_statistics(bert, blocks)
    curves = layer_curves(statistics)
    _show_clark(statistics, curves, sum(block.sentences for block in blocks))
    same = agrees({"expansion_rate": EXPANSION_RATE}, rates) and agrees(CURVES, curves)
    return AGREES if same else DIFFERS


def _show_clark(statistics: NDArray[np.float64], curves: dict[str, NDArray[np.float64]], segments: int) -> None:
    _show(
        f"Clark et al. 2019: {segments:,} pairs of {TOKENS} wordpieces from reviews; theirs Wikipedia", CURVES, curves
    )
    print(f"\nUniform entropy: {np.log(TOKENS):.2f} here, {UNIFORM_ENTROPY} published.")
    for statistic, token, published in (("to_next", "next", "5 (3 in the figure)"), ("to_previous", "previous", "4")):
        names = heads_above(statistics, statistic, 0.5)
        print(f"Heads above 0.5 to the {token} token: {len(names)} here ({', '.join(names)}), {published} published.")


def _show(title: str, targets: dict[str, Target], curves: dict[str, NDArray[np.float64]]) -> None:
    rows = [row for name, target in targets.items() for row in table_rows(target, curves[name])]
    show(title, ("", "", *map(str, range(1, LAYERS + 1)), ""), rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
