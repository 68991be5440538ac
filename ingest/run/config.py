"""Checks of a config.json, and the configuration that a model is built from: nothing else of a config.json reaches it."""

from collections.abc import Mapping
from typing import Any

from ingest.family.families import family_of
from ingest.family.protocol import Family
from ingest.run.errors import IngestError, short

#: Tokens that a model reads at least: a wordpiece between its special tokens.
SHORTEST = 3


def check_config(name: str, family: Family, config: Mapping[str, Any]) -> None:
    """Refuse a config.json with a value that no model of its family can be built from.

    Raises
    ------
    IngestError
        Names the field, its value, and what it may be.
    """
    for field, kind in family.fields.items():
        if field in config and not kind.accepts(config[field]):
            raise _refused(name, f"{field} = {short(repr(config[field]))}", kind.explanation)
    size, heads = family.size(config, "hidden_size"), family.size(config, "num_attention_heads")
    if size % heads:
        raise _refused(name, f"num_attention_heads = {heads}", f"a divisor of hidden_size = {size}")
    padding, words = config.get("pad_token_id", family.defaults["pad_token_id"]) or 0, family.size(config, "vocab_size")
    if padding >= words:
        raise _refused(name, f"pad_token_id = {padding}", f"less than vocab_size = {words}")
    positions, longest = family.size(config, "max_position_embeddings"), family.longest_input(config)
    if longest < SHORTEST:
        least = (
            f"at least {positions + SHORTEST - longest}: the first token has a position after pad_token_id = {padding}"
        )
        raise _refused(name, f"max_position_embeddings = {positions}", least)


def model_config(config: Mapping[str, Any], **changes: Any) -> Any:
    """Transformers' configuration of a config.json with some fields changed; fields that no model of its family reads are left out."""
    import transformers

    family = family_of(config)
    fields = {name: config[name] for name in family.model_fields if name in config}
    names = fields.pop("id2label", None)
    if names is not None:
        fields["id2label"] = {int(number): str(name) for number, name in names.items()}
    return getattr(transformers, family.config_class)(**(fields | changes))


def _refused(name: str, value: str, expected: str) -> IngestError:
    return IngestError(
        f"config.json of {short(name)} says {value}. It must be {expected}. Save the model again with save_pretrained."
    )
