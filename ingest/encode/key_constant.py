"""What the keys of each head have in common, taken off before they are rounded to float16 (`store.keys`).

It must not depend on the corpus, so that a store that grows equals one made at once: the mean key over random wordpieces.
"""

import numpy as np
import torch
from torch import Tensor

from ingest.encode.bert import Bert

SEQUENCES, LENGTH = 32, 24
#: The mean is rounded to multiples of this, so that another device or number of threads finds the same.
STEP = 1 / 64


def key_constant(bert: Bert) -> Tensor:
    """Mean key (layer, head, channel) over random sequences of wordpieces, in float32."""
    length = min(LENGTH, bert.model.config.max_position_embeddings)
    wordpieces = np.random.default_rng(0).integers(bert.model.config.vocab_size, size=(SEQUENCES, length))
    capture = bert.run(torch.from_numpy(wordpieces).to(bert.device), None)
    means = torch.stack([bert.split_heads(key).mean(dim=(0, 1)) for key in capture.key])
    return torch.round(means / STEP) * STEP
