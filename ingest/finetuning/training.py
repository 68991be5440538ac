"""The training itself, by transformers' Trainer: AdamW, warm-up, clipped gradients, checkpoints, early stopping."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler
from transformers import EvalPrediction, PrinterCallback, Trainer, TrainingArguments

from ingest.finetuning.examples import Example
from ingest.finetuning.order import training_order
from ingest.finetuning.schedule import EVALUATIONS, Schedule
from ingest.finetuning.watching import Watching, seconds

#: Share of the steps in which the learning rate grows; from then on it falls to 0 (Devlin et al. 2019, appendix A.2).
WARM_UP = 0.1
WEIGHT_DECAY = 0.01
LARGEST_GRADIENT = 1.0
#: Lengths are padded to a multiple: for every other shape of a batch a CPU prepares its products anew.
MULTIPLE = 32


@dataclass(frozen=True)
class Plan:
    """How a model is trained on how many reviews."""

    batch: int
    epochs: int
    learning_rate: float
    seed: int
    device: torch.device
    precision: str
    #: Where checkpoints are kept while it runs.
    checkpoints: Path


class Order(Sampler[int]):
    """Rows of an epoch, the same whether the epoch is begun or gone on with."""

    def __init__(self, trainer: "ClassifierTrainer", lengths: "np.ndarray[Any, Any]") -> None:
        self._trainer, self._lengths = trainer, lengths

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        args, epoch = self._trainer.args, int(self._trainer.state.epoch or 0)
        order = training_order(self._lengths, batch=args.train_batch_size, seed=args.seed, epoch=epoch)
        return iter(order.tolist())


class ClassifierTrainer(Trainer):
    """transformers' Trainer, with our order and our progress."""

    def __init__(self, model: Any, plan: Plan, *, train: list[Example], held: list[Example]) -> None:
        self._lengths = np.array([len(example["input_ids"]) for example in train])
        super().__init__(
            model,
            arguments(plan, reviews=len(train)),
            data_collator=Padding(model.config.pad_token_id, longest=model.config.max_position_embeddings),
            train_dataset=train,
            eval_dataset=held,
            compute_metrics=accuracy,
            callbacks=[Watching(), Schedule()],
        )
        self.remove_callback(PrinterCallback)

    def _get_train_sampler(self, train_dataset: Any = None) -> Order:  # noqa: ARG002
        return Order(self, self._lengths)

    def _run_epoch(self, *epoch: Any, **of: Any) -> None:
        """Trainer looks only after a step whether to stop; a run that was killed after it was stopped needs none."""
        if not self.control.should_training_stop:
            super()._run_epoch(*epoch, **of)


@dataclass(frozen=True)
class Padding:
    """Puts examples into one batch."""

    pad_id: int
    longest: int

    def __call__(self, examples: list[Example]) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask` (review, token), `labels` (review,)."""
        lengths = [len(example["input_ids"]) for example in examples]
        width = min(math.ceil(max(lengths) / MULTIPLE) * MULTIPLE, self.longest)
        rows = [[*one["input_ids"], *[self.pad_id] * (width - len(one["input_ids"]))] for one in examples]
        real = torch.arange(width) < torch.tensor(lengths)[:, None]
        labels = torch.tensor([example["labels"] for example in examples])
        return {"input_ids": torch.tensor(rows), "attention_mask": real.long(), "labels": labels}


def arguments(plan: Plan, *, reviews: int) -> TrainingArguments:
    """The plan in transformers' words."""
    steps = math.ceil(reviews / plan.batch)
    judged_every = math.ceil(steps / EVALUATIONS)
    made = TrainingArguments(
        output_dir=str(plan.checkpoints),
        per_device_train_batch_size=plan.batch,
        per_device_eval_batch_size=2 * plan.batch,
        num_train_epochs=plan.epochs,
        learning_rate=plan.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=round(WARM_UP * steps * plan.epochs),
        weight_decay=WEIGHT_DECAY,
        max_grad_norm=LARGEST_GRADIENT,
        bf16=plan.precision == "bf16",
        fp16=plan.precision == "fp16",
        use_cpu=plan.device.type == "cpu",
        dataloader_pin_memory=plan.device.type == "cuda",
        eval_strategy="steps",
        eval_steps=judged_every,
        save_strategy="steps",
        save_steps=judged_every,
        save_total_limit=2,  # the best and the last; with 1, Trainer removes the last before the result is saved
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        greater_is_better=True,
        logging_steps=10,
        report_to="none",
        disable_tqdm=True,
        seed=plan.seed,
    )
    made._n_gpu = min(made.n_gpu, 1)  # with several, Trainer would make larger batches than were asked for
    return made


def accuracy(prediction: EvalPrediction) -> dict[str, float]:
    """Share of the reviews whose label has the highest output."""
    return {"accuracy": float((np.argmax(prediction.predictions, axis=-1) == prediction.label_ids).mean())}


def train(trainer: ClassifierTrainer, *, last: Path | None) -> dict[str, Any]:
    """Train, on from the checkpoint `last`; the model is then as good as it was at its best evaluation."""
    trainer.train(resume_from_checkpoint=None if last is None else str(last))
    state = trainer.state
    evaluations = [one for one in state.log_history if "eval_accuracy" in one]
    best = next(one for one in evaluations if one["step"] == state.best_global_step)
    return {
        "accuracy": best["eval_accuracy"],
        "loss": best["eval_loss"],
        "step": best["step"],
        "steps": state.global_step,
        "planned_steps": state.max_steps,
        "seconds": seconds(state),
        "epochs": state.epoch,
        "curve": [
            {"step": one["step"], "accuracy": one["eval_accuracy"], "loss": one["eval_loss"]} for one in evaluations
        ],
    }
