"""A fine-tuning from its settings to its result, in a folder that keeps its settings and its checkpoints meanwhile.

The result has a model card: what the checkpoint is, how it was made, and what was measured.
"""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ingest.family import FAMILIES
from ingest.finetuning.data import Drawn, Example, Labelled, encode, hold_out, read_labelled, read_test, told_cut
from ingest.finetuning.settings import PATIENCE, FinetuningSettings, choose_rate
from ingest.run.checkpoint import Checkpoint, check_length, find_checkpoint
from ingest.run.errors import IngestError
from ingest.run.progress import say
from ingest.run.settings import parse_first
from ingest.text.own_tokenizer import check_vocabulary, load_tokenizer
from ingest.text.reviews import Data, find_data
from ingest.text.tokenizer import vocabulary
from store.repository.files import replace_file, take_lock

if TYPE_CHECKING:
    import torch

    from ingest.finetuning.training import ClassifierTrainer, Plan

#: Names on the hub of checkpoints that did not come from there.
HUB_NAMES = {"all-MiniLM-L6-v2": "sentence-transformers/all-MiniLM-L6-v2"}
#: Files of a checkpoint that make its tokenizer. They are copied byte by byte: the result reads the same corpus.
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    *(file for family in FAMILIES for file in family.vocabulary),
    "special_tokens_map.json",
    "added_tokens.json",
)
#: Files of a checkpoint of the training that a resumed run needs to reach the same weights. The last is written last,
#: but a run that is killed while it removes a checkpoint may leave any of them.
CHECKPOINT_FILES = ("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json")
CHECKPOINTS = "checkpoints"
#: The settings of a fine-tuning that has begun, and its metrics, with the settings, when it is finished.
BEGUN, FINISHED = f"{CHECKPOINTS}/asked.json", "metrics.json"
CHECKPOINT_NAME = re.compile(r"checkpoint-[0-9]+")
VERSION = "finetuning/1"
#: Part of the identity of reviews, before the number of reviews that are drawn.
DRAWN = "#drawn="
#: Settings that the result does not depend on, or that the identity of its reviews includes.
NOT_IDENTITY = ("out", "data_split", "first", "split")


def make_card(
    name: str, checkpoint: Checkpoint, data: Data, settings: Mapping[str, Any], metrics: Mapping[str, Any], cut: str
) -> str:
    """README.md of the checkpoint, as the hub reads it; `cut` says which part of a longer review was read."""
    parts = [
        _front_matter(checkpoint),
        f"# {name}\n\n{checkpoint.name} fine-tuned to tell {_listed(metrics['labels'])} apart, on {data.name}.",
        "## Measured\n\n" + _measured(metrics),
        "## How it was trained\n\n" + _trained(checkpoint, data, settings, metrics, cut),
        "## How to use it\n\n" + _usage(name),
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(checkpoint: Checkpoint) -> str:
    lines = ["library_name: transformers", "pipeline_tag: text-classification"]
    lines += (
        [f"base_model: {HUB_NAMES.get(checkpoint.name, checkpoint.name)}"] if checkpoint.revision != "local" else []
    )
    return "\n".join(["---", *lines, "---"])


def _measured(metrics: Mapping[str, Any]) -> str:
    rows = [("held out of the training data", metrics["held_reviews"], metrics)]
    test = metrics["test"]
    rows += [("test split", test["reviews"], test)] if test else []
    lines = [
        f"| {title} | {reviews:,} | {scores['accuracy']:.4f} | {scores['loss']:.4f} |"
        for title, reviews, scores in rows
    ]
    note = (
        "The held-out reviews were never trained on, but say which of the evaluations is the best, "
        "so their accuracy is a little too high."
    )
    note += f" {metrics['most_frequent']:.4f} of them have the most frequent label."
    note += _note_on_test(metrics)
    curve = "".join(
        f"| {scores['step']:,} | {scores['accuracy']:.4f} | {scores['loss']:.4f} |\n" for scores in metrics["curve"]
    )
    return (
        "| reviews | count | accuracy | loss |\n| --- | --- | --- | --- |\n" + "\n".join(lines) + f"\n\n{note}\n\n"
        f"| step | held-out accuracy | held-out loss |\n| --- | --- | --- |\n{curve}\n"
        f"The saved model is that of step {metrics['step']:,} of {metrics['steps']:,} (planned: {metrics['planned_steps']:,}), "
        f"after {metrics['seconds'] / 60:.1f} minutes of training and evaluation "
        f"({metrics['epochs'] * metrics['train_wordpieces'] / metrics['seconds']:,.0f} wordpieces a second)."
    )


def _note_on_test(metrics: Mapping[str, Any]) -> str:
    if metrics["test_left_out"]:
        return f" Left out of the test split: {metrics['test_left_out']:,} reviews that are in the training data too."
    return "" if metrics["test"] else " The data has no test split."


def _trained(
    checkpoint: Checkpoint, data: Data, settings: Mapping[str, Any], metrics: Mapping[str, Any], cut: str
) -> str:
    rows = {
        "start": f"{checkpoint.name}, weights sha256 {checkpoint.weights_sha256}",
        "data": f"{data.name}, {data.identity}",
        "trained on": f"{metrics['train_reviews']:,} different reviews, {metrics['train_wordpieces']:,} wordpieces an epoch",
        "epochs": settings["epochs"],
        "reviews a step": settings["batch"],
        "learning rate": f"{metrics['learning_rate']}, AdamW, linear warm-up over a tenth of the steps, then down to 0",
        "wordpieces": f"{settings['max_length']}; {cut} (head + tail, Sun et al. 2019, section 5.3)",
        "frozen": f"embeddings and {settings['freeze']} lower layers" if settings["freeze"] else "nothing",
        "seed": settings["seed"],
        "device": f"{settings['device']}, {metrics['precision']}",
        "versions": ", ".join(f"{package} {number}" for package, number in metrics["versions"].items()),
    }
    return "| | |\n| --- | --- |\n" + "\n".join(f"| {title} | {value} |" for title, value in rows.items())


def _usage(name: str) -> str:
    return (
        "```python\nfrom transformers import pipeline\n\n"
        f'pipeline("text-classification", "{name}", truncation=True)("A film to remember.")\n```\n\n'
        "It was trained on beginnings and ends of long reviews; `truncation=True` keeps beginnings alone. "
        "Its heads beside those of the model it started from: `headscape ingest --model=<this folder>`."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}"


class Folder:
    """The folder of the result. `metrics.json` is written last: a folder with it is finished."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path, self.settings = path, json.loads(json.dumps(settings))
        self.checkpoints = path / CHECKPOINTS
        self._begun, self._finished = path / BEGUN, path / FINISHED

    def lock(self) -> IO[str]:
        """Lock the folder, before anything in it is read: another run may be writing it.

        Raises
        ------
        IngestError
            Where another run has it, or nothing can be written.
        """
        try:
            lock = take_lock(self.path)
        except OSError as error:
            raise self._unwritable(error) from error
        if lock is None:
            raise IngestError(
                f"Another fine-tuning is writing {self.path}. Run again when it has ended, or give --out=<another folder>."
            )
        return lock

    def begin(self) -> None:
        """Create the folder, or check that the same settings began it.

        Raises
        ------
        IngestError
            Where it cannot be written, or holds something else.
        """
        try:
            self._check()
            if not self.finished:
                self.checkpoints.mkdir(parents=True, exist_ok=True)
                _write(self._begun, {"asked": self.settings})
        except OSError as error:
            raise self._unwritable(error) from error

    @property
    def finished(self) -> bool:
        """Whether the result is whole."""
        return self._finished.is_file()

    @property
    def metrics(self) -> dict[str, Any]:
        """The metrics of the result."""
        return _read(self._finished) or {}

    def last_checkpoint(self) -> Path | None:
        """The newest whole checkpoint; one that a killed run was writing or removing is deleted."""
        folders = [folder for folder in self.checkpoints.glob("checkpoint-*") if CHECKPOINT_NAME.fullmatch(folder.name)]
        for folder in sorted(folders, key=_step, reverse=True):
            if _whole(folder):
                return folder
            shutil.rmtree(folder)
        return None

    def save(self, model: Any, start: Path, card: str) -> None:
        """Save the model with the tokenizer it started with."""
        model.save_pretrained(self.path)
        for name in TOKENIZER_FILES:
            if (start / name).is_file():
                shutil.copyfile(start / name, self.path / name)
        (self.path / "README.md").write_text(card, "utf-8")

    def finish(self, metrics: Mapping[str, Any]) -> None:
        """Write the metrics: the result is whole."""
        _write(self._finished, {"asked": self.settings, **metrics})
        self.remove_checkpoints()

    def remove_checkpoints(self) -> None:
        """Remove the checkpoints, which serve only to resume."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    def _unwritable(self, error: OSError) -> IngestError:
        reason = error.strerror or type(error).__name__
        return IngestError(f"{self.path} cannot be written ({reason}). Give --out=<a folder of yours>.")

    def _check(self) -> None:
        known = self._known()
        if known is not None:
            self._compare(known)
        elif self._foreign():
            raise IngestError(f"{self.path} is not empty, and holds no fine-tuned model. Give --out=<a new folder>.")

    def _known(self) -> dict[str, Any] | None:
        """Settings of the fine-tuning in the folder, if it is finished or can be resumed; None if not."""
        finished, begun = _settings_of(self._finished), _settings_of(self._begun)
        if finished is not None or begun is None:
            return finished
        return begun if self.last_checkpoint() else None

    def _compare(self, known: Mapping[str, Any]) -> None:
        names = sorted(
            name for name in self.settings.keys() | known.keys() if self.settings.get(name) != known.get(name)
        )
        if names:
            differences = ", ".join(f"--{name.replace('_', '-')} was {known.get(name)}" for name in names)
            raise IngestError(
                f"{self.path} holds a model that was trained with other settings ({differences}). "
                "Give another --out, or the same settings, or remove that folder."
            )

    def _foreign(self) -> bool:
        """Whether the folder holds files that no fine-tuning begins with; a killed one may leave a part of its settings."""
        files = (file for file in self.path.rglob("*") if file.is_file())
        return any(file.parent != self.checkpoints or not file.name.startswith("asked.") for file in files)


def held_reviews(path: Path) -> list[str]:
    """Identity of the reviews that the model in a folder was or is trained on; none where there is no such model."""
    settings = _settings_of(path / FINISHED) or _settings_of(path / BEGUN) or {}
    return [str(settings["reviews"]).partition(DRAWN)[0]] if "reviews" in settings else []


def measured_accuracy(folder: Path) -> dict[str, Any] | None:
    """Accuracy of a fine-tuned model, and the share of the most frequent label; None where a folder has another model."""
    metrics = _read(folder / FINISHED) or {}
    names = ("labels", "held_reviews", "accuracy", "most_frequent")
    return {name: metrics[name] for name in names} if metrics.keys() >= set(names) else None


def _step(folder: Path) -> int:
    return int(folder.name.rpartition("-")[2])


def _whole(folder: Path) -> bool:
    return all((folder / name).is_file() for name in CHECKPOINT_FILES) and bool(_read(folder / CHECKPOINT_FILES[-1]))


def _settings_of(path: Path) -> dict[str, Any] | None:
    """Settings in a file of a fine-tuning; None where the file is missing or holds something else."""
    settings = (_read(path) or {}).get("asked")
    return settings if isinstance(settings, dict) else None


def _read(path: Path) -> dict[str, Any] | None:
    """The object in a file of JSON; None where it is not there, not whole, or something else."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _write(path: Path, content: Mapping[str, Any]) -> None:
    replace_file(path, f"{json.dumps(content, indent=1)}\n".encode())


def run(settings: FinetuningSettings, *, patience: int = PATIENCE, checkpoint: Checkpoint | None = None) -> None:
    """Fine-tune a checkpoint; an existing result is not computed again.

    `patience` is as in `Plan`; `checkpoint` is the checkpoint of the settings, if the caller has found it.
    """
    from ingest.encode.loading import check_shapes, find_device
    from ingest.finetuning.training import check_freeze, check_padding

    checkpoint = checkpoint or find_checkpoint(settings.model)
    out = Path(settings.out)
    data, drawn = _reviews(settings, out)
    check_length(checkpoint, settings.max_length)
    check_freeze(checkpoint, settings.freeze)
    check_padding(checkpoint)
    check_shapes(checkpoint)
    device = find_device(settings.device)
    tokenizer = load_tokenizer(checkpoint.folder)
    check_vocabulary(checkpoint, vocabulary(tokenizer))
    folder = Folder(out, _identity(settings, checkpoint, data, device.type))
    read = partial(read_labelled, data, text=settings.text, label=settings.label, drawn=drawn)
    labelled = None if folder.finished else read()  # before the folder is made: missing data leaves no folder
    with folder.lock():
        folder.begin()
        if folder.finished:
            folder.remove_checkpoints()
            say(
                f"Nothing to do: {folder.path} already holds {checkpoint.name} fine-tuned with these settings.{_result(folder.metrics)}"
            )
            return
        labelled = labelled or read()
        data = replace(data, name=labelled.named(data.name))
        training = Finetuning(settings, checkpoint, data, labelled, drawn, tokenizer, folder, device, patience)
        metrics = training.run()
        say(f"Saved {checkpoint.name} fine-tuned on {data.name} in {folder.path}.{_result(metrics)}")


def _reviews(settings: FinetuningSettings, out: Path) -> tuple[Data, Drawn | None]:
    """The data, and the draw of its reviews; the first reviews of a large data set of the hub are read as a stream."""
    split, count = settings.data_split or settings.split, parse_first(settings.first)
    data = find_data(settings.data, split=split, fewest=count, held=lambda: held_reviews(out))
    if count is None:
        return data, None
    return replace(data, identity=f"{data.identity}{DRAWN}{count}"), Drawn(count, settings.seed)


@dataclass(frozen=True)
class Finetuning:
    """The fine-tuning of one checkpoint on one data set."""

    settings: FinetuningSettings
    checkpoint: Checkpoint
    data: Data
    labelled: Labelled
    drawn: Drawn | None
    tokenizer: Any
    folder: Folder
    device: "torch.device"
    patience: int

    def run(self) -> dict[str, Any]:
        """Train, test and save; returns the metrics."""
        from ingest.finetuning.training import train

        test, left_out = self._read_test()
        trainer, plan, sizes = self._prepare()
        trained = train(trainer, last=self.folder.last_checkpoint())
        metrics = {**trained, **sizes, "precision": plan.precision, "learning_rate": plan.learning_rate}
        metrics |= {"test": self._test(trainer, test), "test_left_out": left_out}
        metrics |= {"labels": self.labelled.names, "versions": _versions()}
        name, cut = self.folder.path.resolve().name, told_cut(self.tokenizer, max_length=self.settings.max_length)
        card = make_card(name, self.checkpoint, self.data, self.folder.settings, metrics, cut)
        self.folder.save(trainer.accelerator.unwrap_model(trainer.model), self.checkpoint.folder, card)
        self.folder.finish(metrics)
        return metrics

    def _read_test(self) -> tuple[Labelled, int]:
        """Read the test split, before the training: if this fails, no hour is lost."""
        settings = self.settings
        return read_test(self.data, self.labelled, text=settings.text, label=settings.label, drawn=self.drawn)

    def _prepare(self) -> tuple["ClassifierTrainer", "Plan", dict[str, Any]]:
        from ingest.finetuning.training import ClassifierTrainer, load_classifier

        settings, labelled = self.settings, self.labelled
        rows, held_rows = hold_out(labelled.labels, seed=settings.seed)
        train, held = self._encode(labelled.select(rows)), self._encode(labelled.select(held_rows))
        sizes: dict[str, Any] = {
            "train_reviews": len(train),
            "held_reviews": len(held),
            "train_wordpieces": _wordpieces(train),
            "most_frequent": float(np.bincount(labelled.labels[held_rows]).max() / len(held_rows)),
        }
        model = load_classifier(self.checkpoint, labelled.names, freeze=settings.freeze, seed=settings.seed)
        plan = self._plan(int(model.config.hidden_size))
        return ClassifierTrainer(model, plan, train=train, held=held), plan, sizes

    def _plan(self, hidden_size: int) -> "Plan":
        from ingest.finetuning.training import Plan, find_precision

        settings = self.settings
        return Plan(
            batch=settings.batch,
            epochs=settings.epochs,
            learning_rate=choose_rate(settings, hidden_size),
            seed=settings.seed,
            device=self.device,
            precision=find_precision(self.device),
            checkpoints=self.folder.checkpoints,
            patience=self.patience,
        )

    def _encode(self, labelled: Labelled) -> list[Example]:
        return encode(labelled, self.tokenizer, max_length=self.settings.max_length)

    def _test(self, trainer: "ClassifierTrainer", test: Labelled) -> dict[str, Any] | None:
        """Scores on the test split, computed once, when all else is settled; None where the split is empty."""
        if not test.texts:
            return None
        scores = trainer.evaluate(self._encode(test), metric_key_prefix="test")  # type: ignore[arg-type]  # a list serves
        return {"accuracy": scores["test_accuracy"], "loss": scores["test_loss"], "reviews": len(test.texts)}


def _identity(settings: FinetuningSettings, checkpoint: Checkpoint, data: Data, device: str) -> dict[str, Any]:
    """Everything that the result depends on, except the versions of packages."""
    chosen = {name: value for name, value in asdict(settings).items() if name not in NOT_IDENTITY}
    identity = {
        "weights": checkpoint.weights_sha256,
        "tokenizer": checkpoint.tokenizer_sha256,
        "reviews": data.identity,
    }
    return {**chosen, **identity, "device": device, "version": VERSION}


def _wordpieces(examples: list[Example]) -> int:
    return int(np.sum([len(example["input_ids"]) for example in examples]))


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("headscape", "torch", "transformers", "accelerate")}


def _result(metrics: dict[str, Any]) -> str:
    """The accuracy, as a sentence for a person."""
    test = metrics["test"]
    tested = f", {test['accuracy']:.3f} on the test split" if test else ""
    chance = f" (the most frequent label: {metrics['most_frequent']:.3f})" if "most_frequent" in metrics else ""
    return f" Accuracy {metrics['accuracy']:.3f} on {metrics['held_reviews']:,} held-out reviews{chance}{tested}."
