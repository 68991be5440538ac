"""The groups `/models/<key>/relations`, how often each head links the words of each relation (`store.kernels.relations`),
`/models/<key>/uas`, how many governors are found from attention (Clark et al. 2019, section 5), and those of coreference:
`/corpus/<key>/mentions` and `/models/<key>/coreference`, the antecedents that heads find (section 4.3).
"""

from collections.abc import Mapping

from store.schema import Array, numbered, whole
from store.schema.model import MODEL_ARRAYS

#: Every dependency, whatever its label; every mention, whatever its kind or the gender of its pronoun.
ALL = "all"
#: A label with fewer pairs in the corpus is left out: its accuracy would say nothing.
FEWEST_PAIRS = 20
#: Halves of the sentences: heads are chosen on one and reported on the other.
HALVES = ("chosen on", "reported on")

#: Labels of Universal Dependencies and of Stanford's and ClearNLP's scheme -> what a grammar calls the dependent.
TITLES: Mapping[str, str] = {
    "acl": "clause that modifies a noun",
    "acomp": "adjective as complement",
    "advcl": "adverbial clause",
    "advmod": "adverb",
    "agent": "agent of a passive",
    "amod": "adjective of a noun",
    "appos": "apposition",
    "attr": "attribute",
    "aux": "auxiliary verb",
    "auxpass": "auxiliary of a passive",
    "case": "case marker",
    "cc": "conjunction",
    "ccomp": "clause as object",
    "compound": "compound",
    "conj": "conjunct",
    "cop": "copula",
    "csubj": "clause as subject",
    "dative": "indirect object",
    "det": "determiner",
    "dobj": "direct object",
    "expl": "expletive",
    "fixed": "fixed expression",
    "flat": "flat name",
    "intj": "interjection",
    "iobj": "indirect object",
    "mark": "marker of a clause",
    "neg": "negation",
    "nmod": "noun of a noun",
    "npadvmod": "noun as adverb",
    "nsubj": "subject",
    "nsubjpass": "subject of a passive",
    "nummod": "number of a noun",
    "obj": "direct object",
    "obl": "oblique noun",
    "oprd": "complement of an object",
    "parataxis": "parataxis",
    "pcomp": "complement of a preposition",
    "pobj": "object of a preposition",
    "poss": "possessor",
    "preconj": "first conjunction of a pair",
    "predet": "determiner before a determiner",
    "prep": "preposition",
    "prt": "particle of a verb",
    "quantmod": "modifier of a number",
    "relcl": "relative clause",
    "vocative": "vocative",
    "xcomp": "clause without its own subject",
}

_CELL = ("relation", "direction", "layer", "head")
#: How governors are found -> in words.
METHODS: Mapping[str, str] = {
    "attention_and_words": "probe of the attention of all heads and of word embeddings",
    "attention": "probe of the attention of all heads",
    "best_head": "the one best head",
    "best_offset": "the most frequent offset of a governor",
    "right_branching": "the next word",
    "random_attention_and_words": "probe of attention and words, random weights",
    "random_attention": "probe of attention, random weights",
    "random_best_head": "the one best head, random weights",
    "control_attention_and_words": "control task of the probe of attention and words",
    "control_attention": "control task of the probe of attention",
}
#: How one governor of each word is decided on: each on its own, or the spanning tree with the largest score.
DECODINGS = ("each", "tree")

UAS_ARRAYS: Mapping[str, Array] = {
    "method": numbered("method", "how governors are found", "str"),
    "decoding": numbered("decoding", "each word on its own, or the best spanning tree", "str"),
    "bound": numbered("bound", "end of a 95% interval", "str"),
    "uas": whole(("method", "decoding"), "share of the words with the right governor, mean over seeds"),
    "interval": whole(("bound", "method", "decoding"), "95% interval, by bootstrap over the sentences reported on"),
    "of_seed": whole(("seed", "method", "decoding"), "the same for each seed of a trained probe"),
}


def _counted(dims: tuple[str, ...], meaning: str) -> Array:
    return Array(dims, "int64", dims, meaning, fill=0)


RELATION_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "relation": numbered("relation", f"label of the dependency, or {ALL} of them", "str"),
    "direction": numbered("direction", "when a head links a pair, see store.kernels.relations.DIRECTIONS", "str"),
    "half": numbered("half", "half of the sentences", "str"),
    "bound": numbered("bound", "end of a 95% interval", "str"),
    "pairs": _counted(("half", "relation"), "pairs of a dependent and its governor"),
    "linked": _counted(("half", *_CELL), "pairs that the head links"),
    "interval": whole(
        ("bound", *_CELL), "95% interval of linked / pairs of the second half, by bootstrap over sentences"
    ),
    "offset": Array(
        ("relation",), "int16", ("relation",), "governor - dependent that most pairs of the first half have"
    ),
    "offset_linked": _counted(("half", "relation"), "pairs that have this offset"),
    "random_pairs": _counted(("half", "relation"), "pairs in the sentences that random weights were run on"),
    "random_linked": _counted(
        ("half", *_CELL), "pairs that the head links with random weights; word and position embeddings are kept"
    ),
}


#: How mentions stand in the data: chains of them, or in threes of a pronoun and two names (GAP, Webster et al. 2018).
CHAINS, GAP = "chains", "gap"
#: Pronouns of GAP -> gender, as its scorer has them.
GENDERS: Mapping[str, str] = {
    "he": "masculine",
    "his": "masculine",
    "him": "masculine",
    "she": "feminine",
    "her": "feminine",
    "hers": "feminine",
}
MENTIONS = 4096
#: Kinds of mentions by the part of speech of their head word; what is no pronoun and no name is nominal.
KINDS = (ALL, "pronoun", "proper", "nominal")
#: What is taken for the antecedent of a mention -> in words.
CANDIDATES: Mapping[str, str] = {
    "mentions": "of the mentions before it the one whose head word gets most attention",
    "words": "of all other words the one that gets most attention",
}
#: Antecedents that need no model -> in words.
BASELINES: Mapping[str, str] = {
    "nearest": "nearest mention before it",
    "head_match": "nearest with the same head word",
    "rule_based": "rules: same words, same head word, agreement, nearest",
}
GENDER_NAMES = (ALL, "masculine", "feminine")
GAP_BASELINES: Mapping[str, str] = {
    "nearest": "nearest name",
    "parallelism": "name in the pronoun's role (subject, object), else nearest",
}


def _mention(dtype: str, meaning: str) -> Array:
    return Array(("mention",), dtype, (MENTIONS,), meaning, fill=-1)


MENTION_ARRAYS: Mapping[str, Array] = {
    "mention_size": Array(("sentence",), "int32", (MENTIONS,), "mentions of the sentence", fill=0),
    "character_start": _mention("int32", "first character in the text of the sentence"),
    "character_stop": _mention("int32", "character after the last"),
    "entity": _mention("int32", "what it stands for: mentions of one sentence with the same number corefer"),
}


_NAMES: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "half": numbered("half", "half of the sentences", "str"),
    "bound": numbered("bound", "end of a 95% interval", "str"),
}
_CELL_OF_MENTIONS = ("candidates", "layer", "head", "kind")

COREFERENCE_ARRAYS: Mapping[str, Array] = {
    **_NAMES,
    "candidates": numbered("candidates", "what is taken for the antecedent", "str"),
    "kind": numbered("kind", "kind of the mention", "str"),
    "baseline": numbered("baseline", "an antecedent that needs no model", "str"),
    "mentions": _counted(("half", "kind"), "mentions with an antecedent before them in the passage"),
    "found": _counted(("half", *_CELL_OF_MENTIONS), "of these, mentions whose antecedent the head finds"),
    "interval": whole(
        ("bound", *_CELL_OF_MENTIONS), "95% interval of found / mentions of the second half, by bootstrap"
    ),
    "baseline_found": _counted(("half", "baseline", "kind"), "mentions whose antecedent the baseline finds"),
    "baseline_interval": whole(("bound", "baseline", "kind"), "its 95% interval in the second half"),
    "random_mentions": _counted(("half", "kind"), "mentions in the sentences that random weights were run on"),
    "random_found": _counted(
        ("half", *_CELL_OF_MENTIONS), "mentions whose antecedent the head finds with random weights"
    ),
}

GAP_ARRAYS: Mapping[str, Array] = {
    **_NAMES,
    "gender": numbered("gender", "gender of the pronoun", "str"),
    "baseline": numbered("baseline", "an answer that needs no model", "str"),
    "mentions": _counted(("half", "gender"), "pronouns that stand for one of the two names"),
    "answered": _counted(("half", "gender"), "pronouns that get an answer: they and both names stand in the tokens"),
    "found": _counted(("half", "layer", "head", "gender"), "pronouns whose name gets more attention than the other"),
    "interval": whole(
        ("bound", "layer", "head", "gender"), "95% interval of found / mentions of the second half, by bootstrap"
    ),
    "baseline_found": _counted(("half", "baseline", "gender"), "pronouns whose name the baseline chooses"),
    "baseline_interval": whole(("bound", "baseline", "gender"), "its 95% interval in the second half"),
    "random_mentions": _counted(("half", "gender"), "mentions in the sentences that random weights were run on"),
    "random_answered": _counted(("half", "gender"), "answered in these sentences"),
    "random_found": _counted(("half", "layer", "head", "gender"), "the same as `found`, with random weights"),
}
