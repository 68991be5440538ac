"""A fine-tuning from its settings to its result."""

from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.finetuning.data import Example, Labelled, encode, hold_out, read_labelled, read_test
from ingest.finetuning.folder import Folder, held_reviews, make_card
from ingest.finetuning.settings import FinetuningSettings, choose_rate
from ingest.run.checkpoint import Checkpoint, check_length, find_checkpoint
from ingest.run.progress import say
from ingest.run.settings import parse_first
from ingest.text.own_tokenizer import check_vocabulary, load_tokenizer
from ingest.text.reviews import Data, find_data
from ingest.text.tokenizer import vocabulary

if TYPE_CHECKING:
    import torch

    from ingest.finetuning.training import ClassifierTrainer, Plan

VERSION = "finetuning/1"
#: Settings that the result does not depend on, or that the identity of its reviews has.
NOT_IDENTITY = ("out", "data_split", "first", "split")


def run(settings: FinetuningSettings) -> None:
    """Fine-tune a checkpoint; an existing result is not computed again."""
    from ingest.encode.loading import check_shapes, find_device
    from ingest.finetuning.training import check_freeze

    split = settings.data_split or settings.split
    checkpoint = find_checkpoint(settings.model)
    out = Path(settings.out)
    data = find_data(settings.data, split=split, first=parse_first(settings.first), held=lambda: held_reviews(out))
    check_length(checkpoint, settings.max_length)
    check_freeze(checkpoint, settings.freeze)
    check_shapes(checkpoint)
    device = find_device(settings.device)
    tokenizer = load_tokenizer(checkpoint.folder)
    check_vocabulary(checkpoint, vocabulary(tokenizer))
    folder = Folder(out, _identity(settings, checkpoint, data, device.type))
    read = partial(read_labelled, data, text=settings.text, label=settings.label)
    labelled = None if folder.finished else read()  # before the folder is made: data that is not there leaves none
    with folder.lock():
        folder.begin()
        if folder.finished:
            folder.remove_checkpoints()
            say(
                f"Nothing to do: {folder.path} already holds {checkpoint.name} fine-tuned with these settings.{_result(folder.metrics)}"
            )
            return
        metrics = Finetuning(settings, checkpoint, data, labelled or read(), tokenizer, folder, device).run()
        say(f"Saved {checkpoint.name} fine-tuned on {data.name} in {folder.path}.{_result(metrics)}")


@dataclass(frozen=True)
class Finetuning:
    """One checkpoint on one data set."""

    settings: FinetuningSettings
    checkpoint: Checkpoint
    data: Data
    labelled: Labelled
    tokenizer: Any
    folder: Folder
    device: "torch.device"

    def run(self) -> dict[str, Any]:
        """Train, test and save; returns what was measured."""
        from ingest.finetuning.training import train

        test, left_out = self._read_test()
        trainer, plan, sizes = self._prepare()
        trained = train(trainer, last=self.folder.last_checkpoint())
        metrics = {**trained, **sizes, "precision": plan.precision, "learning_rate": plan.learning_rate}
        metrics |= {"test": self._test(trainer, test), "test_left_out": left_out}
        metrics |= {"labels": self.labelled.names, "versions": _versions()}
        card = make_card(self.folder.path.resolve().name, self.checkpoint, self.data, self.folder.settings, metrics)
        self.folder.save(trainer.accelerator.unwrap_model(trainer.model), self.checkpoint.folder, card)
        self.folder.finish(metrics)
        return metrics

    def _read_test(self) -> tuple[Labelled, int]:
        """Before the training: if it cannot be had, no hour is lost."""
        settings = self.settings
        return read_test(self.data, self.labelled, text=settings.text, label=settings.label)

    def _prepare(self) -> tuple["ClassifierTrainer", "Plan", dict[str, Any]]:
        from ingest.finetuning.training import ClassifierTrainer, load_classifier

        settings, labelled = self.settings, self.labelled
        rows, held_rows = hold_out(labelled.labels, seed=settings.seed)
        train, held = self._encode(labelled.select(rows)), self._encode(labelled.select(held_rows))
        sizes = {"train_reviews": len(train), "held_reviews": len(held), "train_wordpieces": _wordpieces(train)}
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
        )

    def _encode(self, labelled: Labelled) -> list[Example]:
        return encode(labelled, self.tokenizer, max_length=self.settings.max_length)

    def _test(self, trainer: "ClassifierTrainer", test: Labelled) -> dict[str, Any] | None:
        """Once, after everything else is settled; None where there is nothing to test on."""
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
    """The accuracy, for a person."""
    test = metrics["test"]
    tested = f", {test['accuracy']:.3f} on the test split" if test else ""
    return f" Accuracy {metrics['accuracy']:.3f} on {metrics['held_reviews']:,} held-out reviews{tested}."
