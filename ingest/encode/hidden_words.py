"""A `SentenceModel` that also predicts wordpieces that are hidden from it."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ingest.encode.capture import NOTHING, Replaced
from ingest.encode.hooked_model import SentenceModel
from ingest.encode.loading import load_model, weight_shapes
from ingest.run.checkpoint import Checkpoint
from ingest.text.tokenizer import Pair

#: Loss of a trained head that predicts hidden wordpieces; one of `store.schema.model.LOSSES`.
GUESSES = "mlm"


class GuessingModel(SentenceModel):
    """A `SentenceModel` with the checkpoint's trained head for hidden wordpieces, which is loaded at its first use."""

    def __init__(self, checkpoint: Checkpoint, *, max_length: int, dtype: str, loaded: Any = None) -> None:
        super().__init__(checkpoint, max_length=max_length, dtype=dtype, loaded=loaded)
        self.checkpoint = checkpoint

    @cached_property
    def guesses(self) -> bool:
        """Whether the checkpoint has a head for hidden wordpieces, and its tokenizer a wordpiece that hides others."""
        weights = self.checkpoint.family.head_weights.get(GUESSES)
        known = weight_shapes(self.checkpoint).keys()
        return bool(weights) and known >= set(weights or ()) and self.tokenizer.mask_id is not None

    @cached_property
    def _guesser(self) -> Any:
        """The model with its head; the memory of its layers is freed, as the loaded model has their weights."""
        family = self.checkpoint.family
        model: Any = load_model(self.checkpoint, family.architectures[GUESSES]).eval()
        family.parts(model).encoder.to("meta")
        return model

    def hidden_loss(self, pair: Pair, hidden: NDArray[np.integer], replaced: Replaced = NOTHING) -> float:
        """Sum over hidden wordpieces of -ln of the probability of the right one, in nats, where some heads have other patterns."""
        assert self.tokenizer.mask_id is not None, "asked of a model that guesses"
        right = pair.tokens.token_id[hidden]
        token_id = pair.tokens.token_id.copy()
        token_id[hidden] = self.tokenizer.mask_id
        last = self.run(replace(pair.tokens, token_id=token_id), pair.token_type, replaced).last[hidden]
        with torch.inference_mode():
            logits = self.checkpoint.family.guess_wordpieces(self._guesser, torch.from_numpy(last)).double()
            return float(nn.functional.cross_entropy(logits, torch.from_numpy(right.astype(np.int64)), reduction="sum"))
