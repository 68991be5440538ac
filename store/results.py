"""What single stages of an ingest have found out about a model on its corpus; each may be missing."""

from functools import cached_property

import xarray as xr

from store.groups import Groups, with_written_attributes, written
from store.repository.errors import NotIngested
from store.schema.model import PAIR_NUMBERS
from store.text import REMEDY, CorpusText


class StageResults(CorpusText):
    """The results of the stages that may be left out, of one model. Every array is read when it is first used.

    Attributes
    ----------
    name
        Key of the model group.
    """

    def __init__(self, groups: Groups, key: str, name: str, **sizes: int) -> None:
        super().__init__(groups, key, **sizes)
        self.name = name

    @cached_property
    def pairs(self) -> xr.Dataset:
        """Highest-scoring query-key pairs of each head: query_token, key_token, logit, weight (layer, head, rank).

        Tokens are rows of the token axis. A pair stands within a sentence of the corpus; each combination of two
        wordpieces counts at its highest logit. Pairs with [CLS] or [SEP], or of a token with itself, are left out.
        Where a head has fewer pairs, tokens are -1 and numbers NaN. Loaded at first use.
        NotIngested where the ingest has not computed them.
        """
        return self._results("pairs", "sentences", "Highest-scoring pairs")[list(PAIR_NUMBERS)].load()

    @cached_property
    def importance(self) -> xr.Dataset:
        """Head importance: `change` (layer, head) of the model's loss when the head is silenced (Michel 2019, section 3).

        Positive where the model gets worse without the head. Attributes: `kind` and `measure` of the loss, `loss` of
        the whole model, number of `sentences` and `answers`. Loaded at first use.
        NotIngested where the ingest has not computed it.
        """
        remedy = "Run `headscape ingest --importance=100`."
        return self._results("importance", "importance_hash", "Head importance", remedy)[["change"]].load()

    @cached_property
    def divergence(self) -> xr.Dataset:
        """Divergence between heads and the map of the heads (Clark 2019, section 6). Loaded at first use.

        `divergence` (layer, head, other_layer, other_head): Jensen-Shannon divergence in nats, sum over the tokens of a
        sample; `mean_divergence`: per token, 0 to ln 2; `place` (layer, head, component): position of the head on the
        map. Attributes: tokens, sentences, measured_on, stress, seed. NotIngested where the ingest has not computed it.
        """
        group = self._results("divergence", "tokens", "Divergence between heads")
        return group.assign(mean_divergence=group.divergence / group.attrs["tokens"]).load()

    @cached_property
    def normalizations(self) -> xr.Dataset:
        """Constants and quality of each normalisation (normalization, layer, head), `store.schema.pictures`; or NotIngested."""
        return self._results("normalizations", "judged_on", "Normalisations").load()

    def _results(self, stage: str, finished: str, title: str, remedy: str = REMEDY) -> xr.Dataset:
        """The group of a stage of the ingest, which has the attribute `finished` once the stage has run to its end."""
        group = self._groups.open_optional(f"models/{self.name}/{stage}")
        if finished not in group.attrs:
            raise NotIngested(f"{title}: not computed.", remedy)
        return with_written_attributes(group)

    def _of_words(self, stage: str, finished: str, title: str, remedy: str) -> xr.Dataset:
        """The group of a stage that counts words; not computed either where another model had them annotated anew since."""
        if self.has_words:
            self.words.check_governors(stage, title)
        group = self._results(stage, finished, title, remedy)
        if group.attrs.get("annotation") != written(self.words.identity):
            raise NotIngested(f"{title}: not computed.", remedy)
        return group
