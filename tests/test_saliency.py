"""The saliency with which the table of GlobEnc is checked."""

from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from ingest.run.checkpoint import find_checkpoint
from tests.published.saliency import correlations, saliency
from tests.tiny_models import save_model


def test_saliency_is_the_norm_of_gradient_times_input_by_differences_of_the_logit(tmp_path: Path) -> None:
    save_model(tmp_path)
    classifier = AutoModelForSequenceClassification.from_pretrained(tmp_path).double().eval()
    ids = torch.tensor([2, 7, 9, 3])
    with torch.inference_mode():
        embedded = classifier.get_input_embeddings()(ids[None])
        answer = int(classifier(inputs_embeds=embedded).logits[0].argmax())
        step = 1e-5
        slopes = torch.zeros_like(embedded[0])
        for place in np.ndindex(*slopes.shape):
            ends = []
            for side in (step, -step):
                moved = embedded.clone()
                moved[0][place] += side
                ends.append(float(classifier(inputs_embeds=moved).logits[0, answer]))
            slopes[place] = (ends[0] - ends[1]) / (2 * step)
        expected = (slopes * embedded[0]).norm(dim=-1).numpy()
    np.testing.assert_allclose(saliency(classifier, ids), expected, rtol=1e-5)


def test_a_sentence_of_fewer_tokens_than_a_correlation_needs_is_left_out(tmp_path: Path) -> None:
    save_model(tmp_path)
    found = correlations(find_checkpoint(str(tmp_path)), ["the film was good", "", "a bad film"])
    assert {name: len(numbers) for name, numbers in found.items()} == {"attention rollout": 2, "GlobEnc": 2}
    assert all((abs(numbers) <= 1).all() for numbers in found.values())
