"""The fields of a config.json that a BERT is built from: allowed values and defaults.

Nothing else of a config.json reaches the model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.run.errors import IngestError, short

#: Of `transformers.BertConfig`, where config.json leaves them out.
DEFAULTS = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}
#: More than any BERT has; what a tensor holds is bounded by the file of the weights.
MOST = 10_000_000
MOST_LAYERS = 1_000


@dataclass(frozen=True)
class Field:
    """The allowed values of a field."""

    explanation: str
    accepts: Callable[[Any], bool]


def _whole(lowest: int, highest: int, *, none: bool = False) -> Field:
    def accepts(value: Any) -> bool:
        return (none and value is None) or (type(value) is int and lowest <= value <= highest)

    return Field(f"a whole number from {lowest:,} to {highest:,}{' or null' if none else ''}", accepts)


def _number(lowest: float, highest: float, *, none: bool = False) -> Field:
    def accepts(value: Any) -> bool:
        return (none and value is None) or (type(value) in (int, float) and lowest <= value <= highest)

    return Field(f"a number from {lowest:g} to {highest:g}{' or null' if none else ''}", accepts)


def _text(*, none: bool = False) -> Field:
    return Field(f"text{' or null' if none else ''}", lambda value: isinstance(value, str) or (none and value is None))


def _is_labels(value: Any) -> bool:
    """Names by number, from 0 on."""
    if value is None:
        return True
    if not isinstance(value, dict) or not all(isinstance(name, (str, int)) for name in value.values()):
        return False
    return set(value) == set(map(str, range(len(value))))


def _is_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))


_TRUTH = Field("true or false", lambda value: isinstance(value, bool))

#: Fields that a model is built from; the others of `FIELDS` are read by the ingest alone.
MODEL_FIELDS = {
    "vocab_size": _whole(1, MOST),
    "hidden_size": _whole(1, MOST),
    "num_hidden_layers": _whole(1, MOST_LAYERS),
    "num_attention_heads": _whole(1, MOST),
    "intermediate_size": _whole(1, MOST),
    "hidden_act": _text(),
    "hidden_dropout_prob": _number(0, 1),
    "attention_probs_dropout_prob": _number(0, 1),
    "max_position_embeddings": _whole(3, MOST),
    "type_vocab_size": _whole(1, MOST),
    "initializer_range": _number(0, 1000),
    "layer_norm_eps": _number(0, 1),
    "pad_token_id": _whole(0, MOST, none=True),
    "classifier_dropout": _number(0, 1, none=True),
    "tie_word_embeddings": _TRUTH,
    "id2label": Field("an object of the labels' names by number from 0 on", _is_labels),
    "problem_type": _text(none=True),
}
FIELDS = MODEL_FIELDS | {
    "model_type": _text(),
    "is_decoder": _TRUTH,
    "position_embedding_type": _text(none=True),
    "architectures": Field("a list of names or null", _is_texts),
}


def check_config(name: str, config: Mapping[str, Any]) -> None:
    """Refuse a config.json with a value that no BERT can be built from.

    Raises
    ------
    IngestError
        Names the field, its value, and what it may be.
    """
    for field, kind in FIELDS.items():
        if field in config and not kind.accepts(config[field]):
            raise _refused(name, f"{field} = {short(repr(config[field]))}", kind.explanation)
    size, heads = size_of(config, "hidden_size"), size_of(config, "num_attention_heads")
    if size % heads:
        raise _refused(name, f"num_attention_heads = {heads}", f"a divisor of hidden_size = {size}")
    padding, words = config.get("pad_token_id") or 0, size_of(config, "vocab_size")
    if padding >= words:
        raise _refused(name, f"pad_token_id = {padding}", f"less than vocab_size = {words}")


def size_of(config: Mapping[str, Any], field: str) -> int:
    """A size from a checked config.json, or its default in `DEFAULTS`."""
    return int(config.get(field, DEFAULTS[field]))


def model_config(config: Mapping[str, Any], **changes: Any) -> Any:
    """`transformers.BertConfig` of a config.json with some fields changed; fields that no BERT reads are left out."""
    from transformers import BertConfig

    fields = {name: config[name] for name in MODEL_FIELDS if name in config}
    names = fields.pop("id2label", None)
    if names is not None:
        fields["id2label"] = {int(number): str(name) for number, name in names.items()}
    return BertConfig(**(fields | changes))


def _refused(name: str, value: str, expected: str) -> IngestError:
    return IngestError(
        f"config.json of {short(name)} says {value}. It must be {expected}. Save the model again with save_pretrained."
    )
