"""Checks of a checkpoint's folder and of its config.json, and the configuration that a model is built from.

Nothing else of a config.json reaches the model. Folders that are nearly a checkpoint, such as what training and its libraries
write, are recognised by names of files.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ingest.family.families import family_of, find_family
from ingest.family.protocol import Family
from ingest.run.errors import IngestError, listed, short

#: peft's file beside the weights of an adapter, which are added to those of another model.
ADAPTER = "adapter_config.json"
#: peft's class that loads an adapter with its model, by what the adapter was trained for.
PEFT_CLASSES = {"SEQ_CLS": "AutoPeftModelForSequenceClassification", "TOKEN_CLS": "AutoPeftModelForTokenClassification"}
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


def check_folder(folder: Path) -> None:
    """Refuse an adapter, alone or beside weights, and a folder that only has checkpoints inside.

    Raises
    ------
    IngestError
        Says what the folder is, and what to give instead.
    """
    if (folder / ADAPTER).is_file():
        raise _adapter(folder)
    if (folder / "config.json").is_file():
        return
    families = _checkpoints_inside(folder)
    if families:
        inside = list(families)
        names = listed(path.relative_to(folder) for path in inside)
        kinds = " and ".join(dict.fromkeys(f"{family.name}s" for family in families.values()))
        kind = "the folder of a sentence-transformers model" if (folder / "modules.json").is_file() else "no checkpoint"
        raise IngestError(f"{folder} is {kind}, and has {kinds} inside: {names}. Give --model={inside[-1]}.")


def check_whole(name: str, family: Family, config: Mapping[str, Any]) -> None:
    """Refuse a model whose config.json says that heads were pruned: its layers have different numbers of heads.

    Raises
    ------
    IngestError
        Names the layers.
    """
    pruned = config.get("pruned_heads")
    if pruned:
        layers = listed(pruned) if isinstance(pruned, dict) else short(pruned)
        raise IngestError(
            f"config.json of {short(name)} says that heads are pruned (in layers {layers}), and transformers' {family.name} no longer prunes any. "
            "Give the checkpoint from before prune_heads."
        )


def _adapter(folder: Path) -> IngestError:
    described = _read(folder / ADAPTER)
    kind = str(described.get("peft_type") or "").upper() or "peft"
    loads = PEFT_CLASSES.get(str(described.get("task_type")), "AutoPeftModel")
    return IngestError(
        f"{folder} has an adapter ({short(kind)}, {ADAPTER}) that is not merged into the weights of its model. "
        f"Save the merged model, peft.{loads}.from_pretrained({str(folder)!r}).merge_and_unload().save_pretrained('merged'), with its tokenizer."
    )


def _checkpoints_inside(folder: Path) -> dict[Path, Family]:
    """Folders with a model one level below, or in a cache of the hub two; the last of a training last."""
    configs = [*folder.glob("*/config.json"), *folder.glob("snapshots/*/config.json")]
    found = {path.parent: family for path in configs if (family := find_family(_read(path)))}
    return dict(sorted(found.items(), key=lambda own: (_step(own[0]), own[0].name)))


def _step(folder: Path) -> int:
    """The step of a training's checkpoint; -1 for any other folder."""
    step = folder.name.removeprefix("checkpoint-")
    return int(step) if step.isdecimal() else -1


def _read(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; empty where the file has none."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
