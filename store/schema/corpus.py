"""Arrays of the sentences and words of a data set, and of each head's attention between words.

`/corpus/<key>`: sentences and tokens of one data set under one tokenizer; `words`: words and their grammar; `mentions`: gold
coreference. `/models/<key>/words`: the word that each word attends to most; `relations`: how often each head links the words of each
relation (`store.kernels.relations`); `uas`: share of governors found from attention (Clark et al. 2019, section 5);
`coreference`: the antecedents that heads find (section 4.3); `roles`: how well rules of the text explain each head, its roles, and
the biases that tests of roles need.

Rules and roles are named as in `store.kernels.rules.RULES`; a corpus without words has no roles of grammar. Tables of
heads are not stored: they follow from the stored queries and keys (`store.rules`).
"""

from collections.abc import Mapping

from store.schema import Array, numbered, whole
from store.schema.model import HEADS, MODEL_ARRAYS

CLS, SEP, PUNCTUATION, CONTINUATION, PAD, SYMBOL, SPECIAL, FIRST = 1, 2, 4, 8, 16, 32, 64, 128
#: Bits of `token_flags`. PUNCTUATION: full stops and commas of any script (Clark 2019: "." and ","). SYMBOL: other tokens
#: without letter or digit. SPECIAL: a special token other than [CLS] and [SEP], such as [MASK]; older stores lack it.
#: FIRST: the first token, where the tokenizer adds no token before a text.
TOKEN_FLAGS = {
    "cls": CLS,
    "sep": SEP,
    "punctuation": PUNCTUATION,
    "continuation": CONTINUATION,
    "pad": PAD,
    "symbol": SYMBOL,
    "special": SPECIAL,
    "first": FIRST,
}
#: Special tokens, which belong to no word, whether the tokenizer adds them or a text contains them.
NO_WORD = CLS | SEP | SPECIAL
#: The first token of a sentence, which statistics, rules and roles of [CLS] mean.
OPENS = CLS | FIRST
#: Tokens that heads without a task attend to (null attention, Vig and Belinkov 2019, section 4.1); no words for rules and roles.
IDLE = NO_WORD | FIRST
#: Values in place of the index of a governor: the word is a root; its governor is unknown, or was cut off with the sentence.
ROOT, NO_GOVERNOR = -1, -2
#: Number of words of a chunk.
WORDS = 16384
#: Rule set that predicts the attention of a head -> its description.
RULE_SETS: Mapping[str, str] = {
    "uniform": "the same weight on every key",
    "single": "the best single rule",
    "six": "at most six rules",
    "all": "all rules",
    "static": "position and word, the most that a model without context can say",
    "without_tables": "at most six rules without the two tables of the head",
}
#: Name of a rule from a head's own fitted tables, listed after the rules of all heads -> its title.
TABLES: Mapping[str, str] = {"sink_score": "sink score of the wordpiece", "word_table": "word-word table of the head"}
#: Halves of the sentences: roles are fitted on the first; the second judges, and is fitted for comparison.
ROLE_HALVES = ("fitted on", "judged on")
#: Index in place of a missing rule.
NO_RULE = -1


def _token(dtype: str, meaning: str, fill: int = 0) -> Array:
    return Array(("token",), dtype, ("block",), meaning, fill=fill)


def _sentence(dtype: str, meaning: str, fill: int = 0) -> Array:
    return Array(("sentence",), dtype, (16384,), meaning, fill=fill)


CORPUS_ARRAYS: Mapping[str, Array] = {
    "token_id": _token("int32", "index into vocab"),
    "position": _token("int16", "position in the sentence, [CLS] is 0"),
    "word_index": _token("int16", "word of the sentence this wordpiece belongs to, -1 for special tokens", -1),
    "sentence_index": _token("int32", "sentence of the token, -1 for padding at the end of a block", -1),
    "token_flags": _token("uint8", "bits: " + ", ".join(f"{bit} {name}" for name, bit in TOKEN_FLAGS.items()), PAD),
    "row_start": _sentence("int64", "first token of the sentence"),
    "row_size": _sentence("int32", "tokens of the sentence, [CLS] and [SEP] included"),
    "label": _sentence("int16", "label of the review, -1 if it has none", -1),
    "document": _sentence("int32", "index of the review in the data"),
    "sentence_hash": _sentence(
        "uint64", "content hash; sentences are sorted by it, so every prefix is a uniform sample"
    ),
    "text": Array(("sentence",), "str", (4096,), "the sentence as it stands in the review"),
    "vocab": numbered("vocab", "wordpiece of each token id", "str"),
    "vocab_text": numbered("vocab", "text that the wordpiece stands for, empty for white space", "str"),
}


#: Declaration of each array of `/corpus/<key>/columns`: a categorical column of the data.
COLUMN = _sentence("int16", "category of the sentence's review: index into `names`, -1 if it has none", -1)


def _word(dtype: str, meaning: str, fill: int = -1) -> Array:
    return Array(("word",), dtype, (WORDS,), meaning, fill=fill)


def _sentence_words(dtype: str, meaning: str) -> Array:
    return Array(("sentence",), dtype, (WORDS,), meaning, fill=0)


def _category(meaning: str) -> Array:
    return _word("int16", f"{meaning}: index into the attribute `names`, -1 if it has none")


#: Categories of a word whose names are few; each is an array of codes with the attribute `names`.
CATEGORIES: Mapping[str, Array] = {
    "relation": _category("label of its dependency"),
    "part_of_speech": _category("universal part of speech"),
    "tag": _category("part of speech in the scheme of the annotation"),
    "entity": _category("kind of the named entity it is in"),
}


WORD_ARRAYS: Mapping[str, Array] = {
    "word_start": _sentence_words("int64", "first word of the sentence"),
    "word_size": _sentence_words("int32", "words of the sentence; those that were cut off with it are not counted"),
    "character_start": _word("int32", "first character in the text of the sentence"),
    "character_stop": _word("int32", "character after the last"),
    "token_start": _word("int16", "position of its first wordpiece in the sentence"),
    "token_stop": _word("int16", "position after its last wordpiece"),
    "governor": _word(
        "int16", f"word of the sentence it depends on; {ROOT} for a root, {NO_GOVERNOR} if not known", NO_GOVERNOR
    ),
    **CATEGORIES,
    "lemma": _word("int32", "dictionary form: index into lemma_names, -1 if it has none"),
    "lemma_names": numbered("lemma", "dictionary form of each code", "str"),
}


def _strongest(meaning: str) -> Array:
    return Array(("layer", "head", "word"), "int16", (1, "head", WORDS), meaning, fill=-1)


#: Strongest words, by attention to a word as the sum over its wordpieces, from a word as their mean (Clark 2019, section 4.1).
STRONGEST_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "most_attended": _strongest("other word of the sentence that this word attends to most, -1 if to none"),
    "most_attending": _strongest("other word of the sentence that attends most to this word, -1 if none does"),
    "words_hash": Array(("task",), "uint64", (1,), "hash of the block the words were found in, 0 if not written"),
}


#: Name for dependencies of all relations; for mentions of all kinds, and of all genders of pronouns.
ALL = "all"


#: Least pairs of a relation in the corpus: with fewer, an accuracy is meaningless and the relation is left out.
FEWEST_PAIRS = 20


#: Halves of the sentences: heads are chosen on one and reported on the other.
HALVES = ("chosen on", "reported on")


#: Relation of Universal Dependencies and of Stanford's and ClearNLP's schemes -> grammatical name of the dependent.
RELATION_TITLES: Mapping[str, str] = {
    "acl": "clause that modifies a noun",
    "acomp": "adjective as complement",
    "advcl": "adverbial clause",
    "advmod": "adverb",
    "agent": "agent of a passive",
    "amod": "adjective modifying a noun",
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
    "nmod": "noun modifying a noun",
    "npadvmod": "noun as adverb",
    "nsubj": "subject",
    "nsubjpass": "subject of a passive",
    "nummod": "number of a noun",
    "obj": "direct object",
    "obl": "oblique noun",
    "oprd": "object predicate (“call him a fool”)",
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


#: Method that finds governors -> its description.
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


#: Choice of one governor for each word: each on its own, or the spanning tree with the largest score.
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


#: Schemes of mentions in the data: chains, or triples of a pronoun and two names (GAP, Webster et al. 2018).
CHAINS, GAP = "chains", "gap"


#: Pronoun of GAP -> gender, as in GAP's scorer.
GENDERS: Mapping[str, str] = {
    "he": "masculine",
    "his": "masculine",
    "him": "masculine",
    "she": "feminine",
    "her": "feminine",
    "hers": "feminine",
}


MENTIONS = 4096


#: Kinds of mentions by the part of speech of their head word; mentions that are neither pronouns nor names are nominal.
MENTION_KINDS = (ALL, "pronoun", "proper", "nominal")


#: Choice of the antecedent of a mention from attention -> its description.
CANDIDATES: Mapping[str, str] = {
    "mentions": "of the mentions before it the one whose head word gets most attention",
    "words": "of all other words the one that gets most attention",
}


#: Choice of the antecedent without a model -> its description.
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


def _biases(sentence: str, sieve: str, meaning: str) -> Array:
    dims = ("layer", "head", sentence, sieve)
    return Array(dims, "float16", (1, "head", sentence, sieve), meaning, fill=float("nan"))


def _of_rules(meaning: str) -> Array:
    return whole(("rules", *HEADS), meaning)


def _of_head(meaning: str) -> Array:
    return whole(HEADS, meaning)


ROLE_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "rules": numbered("rules", "what predicts the attention", "str"),
    "rule": numbered("rule", "rules that are chosen from, those of the head last", "str"),
    "role": numbered("role", "roles, and what none of them explains", "str"),
    "sieve": numbered("sieve", "roles that are tested", "str"),
    "relation": numbered("relation", "roles that are tested against other pairs at the same offset", "str"),
    "part": numbered("part", "parts of a logit", "str"),
    "half": numbered("half", "half of the sentences", "str"),
    "bound": numbered("bound", "end of a 95% interval", "str"),
    "sentence": numbered("sentence", "sentences that are fitted on or judge", "int32"),
    "judged": numbered("sentence", "1 for sentences that judge, 0 for those of the fit", "int8"),
    "random_sentence": numbered("random_sentence", "sentences that random weights were run on", "int32"),
    "iou": _of_rules("sum of min / sum of max of predicted and real weights, mean over held-out sentences"),
    "sqrt_jsd": _of_rules("square root of the Jensen-Shannon divergence of a row in nats, mean over rows"),
    "top_key": _of_rules(
        "share of queries whose largest predicted weight is at the right key, of equal ones at the nearest"
    ),
    "top_word_key": _of_rules("the same among words"),
    "words_share": _of_rules("share of the attention between words that the prediction covers"),
    "interval": whole(("bound", "rules", *HEADS), "95% interval of iou, by bootstrap over sentences"),
    "chosen": Array(
        (*HEADS, "place"), "int16", (*HEADS, "place"), "rules, the most needed first: index into rule", fill=NO_RULE
    ),
    "rule_weight": whole((*HEADS, "place"), "their weights in the logit"),
    "variance_share": whole(("part", *HEADS), "share of the variance of the logits within rows"),
    "share": whole(("role", *HEADS), "share of the attention of words that the role explains; sums to 1 over roles"),
    "weight": whole(("half", "role", *HEADS), "weights of the mixture between words, of each half"),
    "agreement": _of_head("sum over roles of the smaller of both halves' weights"),
    "rand_index": _of_head("adjusted Rand index of the main roles of strong pairs under both halves' weights"),
    "explained": _of_head("share explained of the attention between words, held out"),
    "even_explained": _of_head("the same share by even attention"),
    "bias": _biases("sentence", "sieve", "sieve bias of the head in a sentence, NaN where the role has no pair"),
    "offset_bias": _biases("sentence", "relation", "bias against other pairs at the same offset"),
    "random_bias": _biases("random_sentence", "sieve", "sieve bias with random weights; embeddings are kept"),
}


#: Arrays of a run that may be unfinished.
DRAFT_ARRAYS: Mapping[str, Array] = {
    "numbers": Array(
        ("layer", "number"), "float64", (1, "number"), "arrays of a layer, flattened, one after the other"
    ),
    "layer_hash": Array(("layer",), "uint64", (1,), "hash of what the layer was computed from, 0 if not written"),
}
