"""Saliency of a classifier's input beside what arrives in [CLS]: the table of GlobEnc (Modarressi et al. 2022, notebook attention_flow).

Spearman correlation between the norm of gradient x input of the answer's logit and the row of [CLS] after all layers, over the tokens of a
sentence; mean over the validation sentences of SST-2.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from ingest.encode.decomposition import trace
from ingest.encode.hooked_model import HookedModel
from ingest.run.checkpoint import Checkpoint
from ingest.text.reviews import find_data, read_reviews
from ingest.text.tokenizer import Tokenizer
from tests.bench.arrival import scores_of
from tests.bench.table import show

#: The checkpoint and the sentences of the table.
CLASSIFIER, DATA, SPLIT, TEXT = "TehranNLP-org/bert-base-uncased-cls-sst2", "stanfordnlp/sst2", "validation", "sentence"
#: Published means over 872 sentences, and the difference from which a method is not the same.
PUBLISHED: Mapping[str, float] = {"attention rollout": -0.24, "GlobEnc": 0.77}
TOLERANCE = 0.03
#: Most tokens that are read of a sentence, and fewest tokens of a rank correlation.
MOST, FEWEST = 512, 4


def check_saliency(checkpoint: Checkpoint) -> bool:
    """Print the means on SST-2; whether they agree with the table."""
    reviews = read_reviews(find_data(DATA, split=SPLIT), text=TEXT, label="label")
    found = correlations(checkpoint, (review.text for review in reviews))
    agrees = {name: bool(abs(found[name].mean() - mean) <= TOLERANCE) for name, mean in PUBLISHED.items()}
    rows = [
        (name, f"{mean:.2f}", f"{found[name].mean():.2f} ± {found[name].std():.2f}", "yes" if agrees[name] else "no")
        for name, mean in PUBLISHED.items()
    ]
    title = (
        f"{checkpoint.name}: saliency and what arrives in [CLS], {len(next(iter(found.values())))} sentences of {DATA}"
    )
    show(title, ("method", "published", "here, with its deviation", "agrees"), rows)
    return all(agrees.values())


def correlations(checkpoint: Checkpoint, texts: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    """Spearman correlations of each method's scores with saliency: (sentence,)."""
    classifier = AutoModelForSequenceClassification.from_pretrained(checkpoint.folder).eval()
    model = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32)
    scores = scores_of(model, lambda rows: rows[0], lambda vector: vector)
    tokenizer = Tokenizer(checkpoint.folder, max_length=min(MOST, int(checkpoint.config["max_position_embeddings"])))
    found: dict[str, list[float]] = {name: [] for name in PUBLISHED}
    for text in texts:
        ids = torch.from_numpy(tokenizer.tokenize([text]).token_id.astype(np.int64))
        if len(ids) < FEWEST:
            continue
        salient, traced = saliency(classifier, ids), trace(model, ids)
        for name, numbers in found.items():
            numbers.append(float(spearmanr(scores[name](traced), salient).statistic))
    return {name: np.array(numbers) for name, numbers in found.items()}


def saliency(classifier: PreTrainedModel, ids: torch.Tensor) -> NDArray[np.floating]:
    """Norm of gradient x input of the largest logit, by the embedding of each token: (token,)."""
    embedded = classifier.get_input_embeddings()(ids[None]).detach().requires_grad_()
    logits = classifier(inputs_embeds=embedded).logits[0]
    (gradient,) = torch.autograd.grad(logits.max(), embedded)
    return np.asarray((gradient * embedded).detach()[0].norm(dim=-1).numpy())
