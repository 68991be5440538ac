"""Results of single stages of an ingest for a model on its corpus, each of which may be missing; accuracies of heads from counts."""

from functools import cached_property

import numpy as np
import xarray as xr

from store.head_numbers import HeadNumbers, read_head_numbers
from store.kernels.intervals import ShareReplicates, draw_counts
from store.kernels.relations import (
    DIRECTION_TITLES,
    DIRECTIONS,
    ENDS,
    StrongestWords,
    WordPairs,
    frequent_offset,
    halves,
    linked,
)
from store.kernels.roles import THRESHOLD
from store.process import one_thread
from store.repository.arrays import Groups, with_written_attributes, written
from store.repository.errors import NotIngested
from store.rules import RuleSentences, head_roles, roles_of, rules_of, tests_of
from store.schema.corpus import ALL, GAP
from store.schema.model import PAIR_NUMBERS
from store.text import REMEDY, WORDS_REMEDY, CorpusText

#: Advice that names the command for context mixing.
MIXING_REMEDY = "Run `headscape ingest --mixing=auto`."


class StageResults(CorpusText):
    """The results of optional stages for a model. Every array is read when it is first used.

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
    def head_numbers(self) -> HeadNumbers:
        """Statistics, importance and shares explained by roles, of every head. Loaded at first use."""
        return read_head_numbers(self._groups.chunks, [self.name])[0]

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
    def mixing(self) -> xr.Dataset:
        """Context mixing, arrays as in `store.schema.mixing`: `product` of each token, lazy, and `arrival` with its `arrival_interval`.

        NotIngested where the ingest has not computed it.
        """
        return self._results("mixing", "sentences", "Context mixing", MIXING_REMEDY)

    @property
    def token_reach(self) -> xr.DataArray:
        """Reach of each token (target, layer, token): its share of the target's vector after the layer, over an even share. Lazy.

        By GlobEnc through the layers; targets are those of `store.schema.mixing.TARGETS`, NaN in sentences of more than 512 tokens. NotIngested
        where the ingest has not computed it for all sentences.
        """
        mixing = self.mixing
        if mixing.attrs.get("reached_sentences", 0) < self.n_sentences:
            raise NotIngested("What each token reaches: not computed.", MIXING_REMEDY)
        labels = self.tokens[["position", "sentence_index", "token_flags"]].data_vars
        return mixing["reach"].isel(token=slice(0, self.tokens.sizes["token"])).assign_coords(labels)

    @cached_property
    def normalizations(self) -> xr.Dataset:
        """Constants and quality of each normalisation (normalization, layer, head), see `store.schema.pictures`; or NotIngested."""
        return self._results("normalizations", "judged_on", "Normalisations").load()

    @cached_property
    def strongest_words(self) -> xr.Dataset:
        """The word that each word attends to most, and the word that attends most to it.

        `most_attended` and `most_attending` (layer, head, word): indices in the sentence, -1 where no other word gets, or gives, any attention. Lazy.
        NotIngested where the ingest has not computed them.
        """
        group = self._of_words("words", "sentences", "Attention between words", WORDS_REMEDY)
        return group[list(StrongestWords._fields)].isel(word=slice(0, len(self.words)))

    @cached_property
    def relations(self) -> xr.Dataset:
        """How often each head links the words of each relation. Arrays as in `store.schema.corpus`.

        Also `accuracy` (relation, direction, layer, head), share of the pairs that the head links, in all sentences;
        `chosen_accuracy` and `reported_accuracy`, in each half of the sentences; `random_accuracy`, of the same head with random
        weights; `title` (direction), its name on pages; `offset_accuracy` (relation), share of the pairs of the second half with
        the most frequent offset of the first. Loaded at first use. NotIngested where the ingest has not computed them.
        """
        return with_accuracies(self._of_words("relations", "relations_hash", "Relations", WORDS_REMEDY).load())

    @cached_property
    def uas(self) -> xr.Dataset:
        """Share of words whose governor is found from attention (Clark et al. 2019, section 5), of held-out sentences.

        `uas` (approach, decoding), its 95% `interval` (bound) and `of_seed` (seed); approaches are the methods of `store.schema.corpus`
        (xarray's `sel` keeps the name `method` for itself). Attributes: `trained_on` and `reported_on` sentences, `words`.
        Loaded at first use. NotIngested where the ingest has not computed it.
        """
        remedy = "Run `headscape ingest`, with more sentences where there are few."
        return self._of_words("uas", "uas_hash", "Governors from attention", remedy).load().rename(method="approach")

    @cached_property
    def coreference(self) -> xr.Dataset:
        """How often each head finds the antecedent of a mention (Clark et al. 2019, section 4.3). Loaded at first use.

        Arrays as in `store.schema.corpus`, whose dims depend on the attribute `scheme`: `chains` of mentions, or the
        pronouns of `gap`. And `accuracy`, found / mentions in each half (half, ...), with `baseline_accuracy` and
        `random_accuracy`; of GAP also `f1`, `baseline_f1` and `random_f1`, as its scorer counts.
        NotIngested where the ingest has not computed it.
        """
        remedy = "Run `headscape ingest --data=<file>` with coreference: .conll (CoNLL-2012) or the .tsv of GAP."
        return with_shares(self._of_words("coreference", "coreference_hash", "Coreference", remedy).load())

    @cached_property
    def rules(self) -> xr.Dataset:
        """How well rules of the text predict the attention of each head, on sentences that no rule was fitted on.

        `rules` are the rule sets of `store.schema.corpus.RULE_SETS`: uniform, single, six, all, static, without_tables.
        `iou`, `sqrt_jsd`, `top_key`, `top_word_key`, `words_share` (rules, layer, head) as in `store.kernels.rule_fit.Judge.scores`;
        `interval` (bound, rules, layer, head) of `iou`; `skill` and `words_skill`, the share of what uniform attention leaves of `iou`
        and of `words_share`; `chosen` (layer, head, place), names of at most six rules, the most needed first, "" where there are fewer, with
        their `rule_weight`; `variance_share` (part, layer, head) of the logits. Loaded at first use.
        NotIngested where the ingest has not computed them.
        """
        return rules_of(self._roles)

    @cached_property
    def roles(self) -> xr.Dataset:
        """Roles of each head: `share` (role, layer, head) of the attention of words, held out; sums to 1 over the roles.

        Coordinates of `role`: `kind`, `breadth`, `title` and `description`; the last is `unexplained`. `weight` (half, role, layer, head)
        of the mixture between words in each half of the sentences, NaN for sinks, with `agreement` (layer, head), their overlap,
        and `rand_index` of the main roles of strong pairs; `explained` (layer, head), share of the attention between words that
        the mixture explains, beside `even_explained` by even attention, and `skill`. Loaded at first use.
        NotIngested where the ingest has not computed them.
        """
        return roles_of(self._roles)

    @cached_property
    def head_roles(self) -> xr.DataArray:
        """Roles of each head in words (layer, head), such as `next token 81%, itself 9%`; or NotIngested."""
        return head_roles(self.roles)

    @cached_property
    def role_tests(self) -> xr.Dataset:
        """`test_roles` at the usual threshold of 2; or NotIngested."""
        return self.test_roles(THRESHOLD)

    def test_roles(self, threshold: float) -> xr.Dataset:
        """Whether each head has each role: one-sided t tests over sentences of the sieve bias against a threshold.

        Arrays (role, layer, head): `bias`, the mean over sentences, `p`, `found` among all heads and roles at 5% false
        discoveries (Benjamini and Hochberg), `replicated`, found in either half of the sentences by itself. With random
        weights: `random_bias`, `random_p`, `random_found`, where the ingest had the model. For grammar also `offset_bias`, `offset_p`
        and `offset_found`: against other pairs of words at the same offset, regardless of the threshold. NotIngested where the ingest has
        not computed them.
        """
        return tests_of(self._roles, threshold)

    @cached_property
    def rule_sentences(self) -> RuleSentences:
        """Sentences that the rules of heads are fitted on, and sentences that judge them; without rules, the two halves of the corpus."""
        try:
            return RuleSentences.stored(self._roles)
        except NotIngested:
            return RuleSentences.halved(self.n_sentences)

    @property
    def role_biases(self) -> xr.DataArray:
        """Sieve bias of each head and tested role in each sentence of the tests (layer, head, sentence, sieve); or NotIngested."""
        return self._roles.bias

    @cached_property
    def _roles(self) -> xr.Dataset:
        """The group of the stage of rules and roles. NotIngested without it, or after a new annotation of the words."""
        title = "Rules and roles of heads"
        group = self._results("roles", "roles_hash", title)
        annotation = written(self.words.identity) if self.has_words else None
        if "annotation" in group.attrs and group.attrs["annotation"] != annotation:
            raise NotIngested(f"{title}: not computed.", REMEDY)
        return group.load()

    def _results(self, stage: str, finished: str, title: str, remedy: str = REMEDY) -> xr.Dataset:
        """The group of a stage of the ingest, which has the attribute `finished` once the stage is complete. NotIngested before."""
        group = self._groups.open_optional(f"models/{self.name}/{stage}")
        if finished not in group.attrs:
            raise NotIngested(f"{title}: not computed.", remedy)
        return with_written_attributes(group)

    def _of_words(self, stage: str, finished: str, title: str, remedy: str) -> xr.Dataset:
        """The group of a stage that counts words. NotIngested without it, or after a new annotation of the words."""
        if self.has_words:
            self.words.check_governors(stage, title)
        group = self._results(stage, finished, title, remedy)
        if group.attrs.get("annotation") != written(self.words.identity):
            raise NotIngested(f"{title}: not computed.", remedy)
        return group


def with_shares(counts: xr.Dataset) -> xr.Dataset:
    """The counts of `/models/<key>/coreference` with the shares that `Corpus.coreference` describes.

    An answered pronoun of GAP has exactly one name as its answer: `found` answers are true positives, other answers false
    positives, and names that are not found false negatives.
    """
    shares = {}
    for before, mentions in (("", "mentions"), ("baseline_", "mentions"), ("random_", "random_mentions")):
        shares[f"{before}accuracy"] = counts[f"{before}found"] / counts[mentions]
        if counts.attrs["scheme"] == GAP:
            answered = counts[mentions.replace("mentions", "answered")]
            shares[f"{before}f1"] = 2 * counts[f"{before}found"] / (counts[mentions] + answered)
    return counts.assign(shares)


def best_antecedent_head(coreference: xr.Dataset, of: str = "") -> tuple[int, int]:
    """Layer and head that find most antecedents in the first half of the sentences, over all mentions.

    With chains, candidates are the mentions before. `of` is `random_` for the network with random weights.
    """
    found = coreference[f"{of}found"][0]
    chosen = {"gender": ALL} if coreference.attrs["scheme"] == GAP else {"kind": ALL, "candidates": "mentions"}
    layer, head = divmod(int(found.sel(chosen).values.argmax()), found.sizes["head"])
    return layer, head


def with_accuracies(counts: xr.Dataset) -> xr.Dataset:
    """The counts of `/models/<key>/relations` with the shares that `Corpus.relations` describes."""
    shares = {
        "accuracy": counts.linked.sum("half") / counts.pairs.sum("half"),
        "chosen_accuracy": counts.linked[0] / counts.pairs[0],
        "reported_accuracy": counts.linked[1] / counts.pairs[1],
        "random_accuracy": counts.random_linked.sum("half") / counts.random_pairs.sum("half"),
        "offset_accuracy": (counts.offset_linked[1] / counts.pairs[1]).where(_choosing_pairs(counts) > 0),
    }
    named = counts.assign({name: share.drop_vars("half", errors="ignore") for name, share in shares.items()})
    return named.assign_coords(title=("direction", [title.format(*ENDS) for title in DIRECTION_TITLES.values()]))


def _choosing_pairs(counts: xr.Dataset) -> xr.DataArray:
    """Pairs in the half that chooses the best head and the best offset; without pairs there is neither."""
    return counts.pairs[0].drop_vars("half", errors="ignore")


def best_heads(relations: xr.Dataset) -> xr.Dataset:
    """The head and direction that link most pairs of each relation in the first half of the sentences: (relation).

    `direction`, `layer`, `head`; `accuracy`, its `interval` (bound), `offset_accuracy` and `pairs` in the second half;
    `random_accuracy`, of the best head with random weights, which is chosen and reported in the same way. `choosing_pairs` is
    the number of pairs in the first half: where it is 0, direction, head and offset are meaningless.
    """
    cell = ("direction", "layer", "head")
    chosen = relations.chosen_accuracy.fillna(-1).stack(cell=cell)
    best = chosen.argmax("cell")
    random = relations.random_linked.stack(cell=cell) / relations.random_pairs
    random_best = random[0].fillna(-1).argmax("cell")
    return xr.Dataset(
        {
            **{dim: ("relation", chosen[dim].values[best.values]) for dim in cell},
            "accuracy": _at(relations.reported_accuracy.stack(cell=cell), best),
            "interval": _at(relations.interval.stack(cell=cell), best),
            "random_accuracy": _at(random[1].drop_vars("half"), random_best),
            "offset": relations.offset,
            "offset_accuracy": relations.offset_accuracy,
            "pairs": relations.pairs[1].drop_vars("half", errors="ignore"),
            "choosing_pairs": _choosing_pairs(relations),
        }
    )


def _at(cells: xr.DataArray, best: xr.DataArray) -> xr.DataArray:
    """The number of each relation at its best cell (direction, layer, head)."""
    return cells.isel(cell=best).drop_vars(("cell", "direction", "layer", "head", "title"), errors="ignore")


def count_links(strongest: xr.Dataset, pairs: WordPairs, *, sentences: int, seed: int) -> xr.Dataset:
    """Counts, shares and intervals of any word pairs, like those of a stored relation, without numbers of random weights.

    Reads the strongest words of one layer at a time.

    Parameters
    ----------
    strongest
        `Corpus.strongest_words`.
    pairs
        Pairs of the corpus.
    sentences, seed
        Number of sentences of the corpus; the seed of the bootstrap.
    """
    reported = halves(sentences)[pairs.sentence]
    counts = draw_counts(seed, 0, sentences)
    with one_thread("blas"):  # the matrices are small: threads would wait for each other
        layers = [
            _layer_links(strongest.isel(layer=layer), pairs, reported, counts) for layer in strongest.layer.values
        ]
    offset = frequent_offset(pairs.offsets[~reported])
    linked_pairs = np.stack([layer[0] for layer in layers], axis=2)
    of_half = np.array([(~reported).sum(), reported.sum()])
    dims = ("direction", "layer", "head")
    coordinates = {"direction": list(DIRECTIONS), "layer": strongest.layer, "head": strongest["head"]}
    found = xr.Dataset(
        {
            "pairs": ("half", of_half),
            "linked": (("half", *dims), linked_pairs),
            "interval": (("bound", *dims), np.stack([layer[1] for layer in layers], axis=2)),
            "offset": offset,
            "offset_linked": ("half", [(pairs.offsets[half] == offset).sum() for half in (~reported, reported)]),
            "random_pairs": ("half", np.zeros(2, np.int64)),
            "random_linked": (("half", *dims), np.zeros_like(linked_pairs)),
        },
        coordinates,
    )
    return with_accuracies(found)


def _layer_links(
    layer: xr.Dataset, pairs: WordPairs, reported: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number of linked pairs (half, direction, head) of one layer, and the interval in the second half (bound, direction, head)."""
    hits = linked(StrongestWords(*(layer[name].values for name in StrongestWords._fields)), pairs)
    replicates = ShareReplicates(hits.shape[:-1])
    replicates.add(hits[..., reported], pairs.sentence[reported], counts)
    return np.stack([hits[..., half].sum(axis=-1) for half in (~reported, reported)]), replicates.interval()
