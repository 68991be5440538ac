"""The groups of coreference: mentions of a corpus, and the antecedents that heads find (Clark et al. 2019, section 4.3)."""

from collections.abc import Mapping

from store.schema.array import Array, numbered, whole
from store.schema.model import MODEL_ARRAYS

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
EVERY = "all"
#: Kinds of mentions by the part of speech of their head word; what is no pronoun and no name is nominal.
KINDS = (EVERY, "pronoun", "proper", "nominal")
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
GENDER_NAMES = (EVERY, "masculine", "feminine")
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


def _counted(dims: tuple[str, ...], meaning: str) -> Array:
    return Array(dims, "int64", dims, meaning, fill=0)


_NAMES: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "half": numbered("half", "half of the sentences", "str"),
    "bound": numbered("bound", "end of a 95% interval", "str"),
}
_CELL = ("candidates", "layer", "head", "kind")

COREFERENCE_ARRAYS: Mapping[str, Array] = {
    **_NAMES,
    "candidates": numbered("candidates", "what is taken for the antecedent", "str"),
    "kind": numbered("kind", "kind of the mention", "str"),
    "baseline": numbered("baseline", "an antecedent that needs no model", "str"),
    "mentions": _counted(("half", "kind"), "mentions with an antecedent before them in the passage"),
    "found": _counted(("half", *_CELL), "of these, mentions whose antecedent the head finds"),
    "interval": whole(("bound", *_CELL), "95% interval of found / mentions of the second half, by bootstrap"),
    "baseline_found": _counted(("half", "baseline", "kind"), "mentions whose antecedent the baseline finds"),
    "baseline_interval": whole(("bound", "baseline", "kind"), "its 95% interval in the second half"),
    "random_mentions": _counted(("half", "kind"), "mentions in the sentences that random weights were run on"),
    "random_found": _counted(("half", *_CELL), "mentions whose antecedent the head finds with random weights"),
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
