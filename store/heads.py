"""What heads do, counted: statistics of tokens and of heads, profiles, mixing, divergence, strongest pairs."""

from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.errors import NotIngested
from store.kernels.labels import head_labels
from store.means import Watch, part_means, part_statistics
from store.schema.model import PAIR_NUMBERS
from store.text import Text


class Heads(Text):
    """Numbers of the heads of one model on one corpus. Nothing is loaded before it is asked for."""

    @property
    def token_statistic(self) -> xr.DataArray:
        """Statistics of every token's row (statistic, layer, head, token); `store.STATISTICS` defines them. Lazy."""
        return self._per_token("token_statistic")

    @cached_property
    def head_statistic(self) -> xr.DataArray:
        """Means over sentences (source, statistic, layer, head) of `token_statistic`; `source` says over which rows. float64."""
        return self._model.head_statistic.load()

    def head_means(self, chosen: NDArray[np.bool_]) -> xr.DataArray:
        """As `head_statistic`, over the chosen tokens (n_tokens,) only: (source, statistic, layer, head), NaN without any."""
        return part_means(self.token_statistic, self.tokens, self.rows, chosen)

    def part_statistics(self, chosen: NDArray[np.bool_], watch: Watch = lambda _: None) -> xr.Dataset:
        """`head_means` of the chosen tokens as `mean`, with 95 % intervals as `head_interval` and `layer_interval` are.

        `watch` takes the share that is done; what it raises ends the work.
        """
        seed = int(self.attributes["provenance"]["settings"]["seed"])
        return part_statistics(self.token_statistic, self.tokens, self.rows, chosen, seed=seed, watch=watch)

    @cached_property
    def head_interval(self) -> xr.DataArray:
        """95 % intervals of `head_statistic` (bound, source, statistic, layer, head), by bootstrap over sentences."""
        return self._model.head_interval.load()

    @cached_property
    def layer_interval(self) -> xr.DataArray:
        """95 % intervals of the mean over heads of `head_statistic` (bound, source, statistic, layer), by the same bootstrap."""
        return self._model.layer_interval.load()

    @cached_property
    def head_profile(self) -> xr.DataArray:
        """Attention by key - query (offset, layer, head), mean over sentences of the mean over rows; sums to 1.

        Offsets -11 and 11 are all keys farther than 10.
        """
        return self._model.head_profile.load()

    @cached_property
    def received_at(self) -> xr.DataArray:
        """Mean weight that a sentence's rows give to a position (position, layer, head), Clark's column mean.

        Mean over the sentences that have the position, as many as its coordinate `count` says; NaN where there are none.
        """
        places = np.arange(self._model.sizes["position"])
        count = self._model.tokens_at.load().values
        return self._model.received_at.load().assign_coords(position=places, count=("position", count))

    @property
    def token_mixing(self) -> xr.DataArray:
        """Mixing ratios of every token (ratio, layer, token); `store.schema.model.RATIOS` defines them. Lazy."""
        return self._per_token("token_mixing")

    @cached_property
    def layer_mixing(self) -> xr.DataArray:
        """Means over sentences of `token_mixing` (source, ratio, layer). float64."""
        return self._model.layer_mixing.load()

    def mixing_means(self, chosen: NDArray[np.bool_], watch: Watch = lambda _: None) -> xr.DataArray:
        """As `layer_mixing`, over the chosen tokens (n_tokens,) only: (source, ratio, layer), NaN without any."""
        return part_means(self.token_mixing, self.tokens, self.rows, chosen, watch)

    @cached_property
    def expansion_rate(self) -> xr.DataArray:
        """How much x -> f(x) of all heads lengthens a vector (layer); from the weights alone (Kobayashi 2021)."""
        return self._model.expansion_rate.load()

    @cached_property
    def uniform_entropy(self) -> float:
        """Entropy in nats if attention were uniform: mean over sentences of ln(tokens)."""
        return float(np.log(self.sentences.row_size.values).mean())

    @cached_property
    def pairs(self) -> xr.Dataset:
        """Strongest pairs of every head: query_token, key_token (rows of the token axis), logit, weight (layer, head, rank).

        Loaded once. Within sentences, over the whole corpus, each two wordpieces at their strongest; without [CLS], [SEP]
        and pairs of a token with itself. Where a head has fewer, the tokens are -1 and the numbers NaN.
        """
        group = self._open_if_there(f"models/{self.name}/pairs")
        if "sentences" not in group.attrs:  # as long as they are being found for the first time
            raise NotIngested(f"{self.name} has no strongest pairs yet.", "Run `make ingest`.")
        return group[list(PAIR_NUMBERS)].load()

    @cached_property
    def importance(self) -> xr.Dataset:
        """What the heads are worth to the model: `change` (layer, head) of its loss when the head is silenced. Loaded once.

        Positive where the model gets worse without the head. The attrs say the `kind` and `measure` of the loss, the
        `loss` of the whole model, on how many `sentences` and `answers`.

        Raises
        ------
        StoreError
            Where no ingest was asked for it.
        """
        group = self._open_if_there(f"models/{self.name}/importance")
        if "importance_hash" not in group.attrs:  # as long as it is being found for the first time
            raise NotIngested(
                f"Head importance of {self.name}: not computed.",
                "Run `make ingest` with its MODEL and IMPORTANCE=100, if it predicts masked words or labels.",
            )
        return group[["change"]].load()

    @cached_property
    def divergence(self) -> xr.Dataset:
        """How far apart any two heads are: divergence (layer, head, other_layer, other_head) in nats, place (layer, head, component).

        Loaded once. `divergence` is Clark's Jensen-Shannon divergence, sum over the tokens of a sample, `mean_divergence`
        that of a token, 0 to ln 2; `place` the map of the heads. attrs: tokens, sentences, measured_on, stress, seed.
        """
        group = self._open_if_there(f"models/{self.name}/divergence")
        if "tokens" not in group.attrs:
            raise NotIngested(f"{self.name} has no divergence between its heads yet.", "Run `make ingest`.")
        return group.assign(mean_divergence=group.divergence / group.attrs["tokens"]).load()

    @cached_property
    def head_labels(self) -> xr.DataArray:
        """What every head is in a word, (layer, head), "" where no rule of `store.kernels.labels.LABELS` holds."""
        return head_labels(self.head_statistic, self.sentences.row_size.values)
