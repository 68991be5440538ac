"""The training itself, by transformers' Trainer: AdamW, warm-up, clipped gradients, checkpoints, early stopping.

A classifier of the model's family is trained, whose last layer has an output for every label; its weights are float32, and
matrix products take 16 bits where that is faster. Private names of transformers are here alone: `Trainer._run_epoch`,
`Trainer._get_train_sampler`, `TrainingArguments._n_gpu`. tests/test_transformers_internals.py checks that they still do what
is expected of them.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler
from transformers import (
    EvalPrediction,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from ingest.encode.loading import cuda_dtype, load_model
from ingest.family import family_of
from ingest.family.protocol import ModelParts, padding_of
from ingest.finetuning.data import Example, training_order
from ingest.finetuning.settings import PATIENCE
from ingest.run.checkpoint import Checkpoint, model_config
from ingest.run.errors import IngestError
from ingest.run.progress import bar


def load_classifier(checkpoint: Checkpoint, names: list[str], *, freeze: int, seed: int) -> Any:
    """Transformers' classifier with the checkpoint's weights, whose outputs are named as the labels; its head may be new, by the seed."""
    import transformers

    transformers.set_seed(seed)
    family = checkpoint.family
    model = load_model(
        checkpoint,
        family.architectures["classification"],
        fresh=family.new_weights,
        ignore_mismatched_sizes=True,
        config={"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}},
    )
    freeze_lower(family.parts(model), freeze)
    return model


def check_padding(checkpoint: Checkpoint) -> None:
    """Refuse a model whose padding is no wordpiece: reviews of different lengths are padded into one batch."""
    config = model_config(checkpoint.config)
    padding, words = padding_of(config), config.vocab_size
    if padding is None or padding >= words:
        field = "eos_token_id" if config.pad_token_id is None else "pad_token_id"
        pads = (
            "names no padding"
            if padding is None
            else f"pads with {field} = {padding}, which is none of its {words} wordpieces"
        )
        raise IngestError(
            f"{checkpoint.name} {pads}, so reviews cannot be padded. "
            f"Give config.json a pad_token_id below {words}, the number of the tokenizer's padding or end of a text."
        )


def check_freeze(checkpoint: Checkpoint, freeze: int) -> None:
    """Refuse to freeze more layers than the model has."""
    layers = checkpoint.family.size(checkpoint.config, "num_hidden_layers")
    if freeze > layers:
        raise IngestError(
            f"--freeze={freeze} is more than the {layers} layers of {checkpoint.name}. Give {layers} or less."
        )


def freeze_lower(model: ModelParts, layers: int) -> None:
    """Freeze the embeddings, the modules that all layers share, and the lowest layers; 0 freezes nothing.

    Raises
    ------
    IngestError
        Where a layer that would be frozen shares its weights with one that would not.
    """
    modules = [layer.module for layer in model.layers]
    if layers and set(modules[:layers]) & set(modules[layers:]):
        raise IngestError(
            f"--freeze={layers} would freeze layers above too, which share their weights. Give 0 or {len(modules)}."
        )
    for module in [*model.embeddings, *model.shared, *modules[:layers]] if layers else []:
        module.requires_grad_(False)


def find_precision(device: torch.device, capabilities: Mapping[str, Any] | None = None) -> str:
    """`bf16`, `fp16` or `float32`. A CPU gets bf16 only where it multiplies in bf16; elsewhere bf16 would be slower.

    `capabilities` are the features of a CPU as PyTorch names them; None for the CPU of this machine.
    """
    if device.type == "cuda":
        return "bf16" if cuda_dtype() == torch.bfloat16 else "fp16"
    if device.type == "cpu":
        able = torch.cpu.get_capabilities() if capabilities is None else capabilities
        return "bf16" if able.get("avx512_bf16") or able.get("amx_bf16") else "float32"
    return "float32"


#: Share of the steps in which the learning rate grows; from then on it falls to 0 (Devlin et al. 2019, appendix A.2).
WARM_UP = 0.1
WEIGHT_DECAY = 0.01
LARGEST_GRADIENT = 1.0
#: Lengths are padded to multiples of this: a CPU prepares its products anew for every other shape of a batch.
MULTIPLE = 32
#: Evaluations in an epoch.
EVALUATIONS = 4
#: Checkpoints for each evaluation: a killed run loses no more than a sixteenth of an epoch.
CHECKPOINTS = 4


@dataclass(frozen=True)
class Plan:
    """The plan of a training: sizes of steps, device, checkpoints and patience."""

    batch: int
    epochs: int
    learning_rate: float
    seed: int
    device: torch.device
    precision: str
    #: Folder of the checkpoints while the training runs.
    checkpoints: Path
    patience: int = PATIENCE


class Order(Sampler[int]):
    """Rows of an epoch, the same whether the epoch begins or is resumed."""

    def __init__(self, trainer: "ClassifierTrainer", lengths: "np.ndarray[Any, Any]") -> None:
        self._trainer, self._lengths = trainer, lengths

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        args, epoch = self._trainer.args, int(self._trainer.state.epoch or 0)
        order = training_order(self._lengths, batch=args.train_batch_size, seed=args.seed, epoch=epoch)
        return iter(order.tolist())


class ClassifierTrainer(Trainer):
    """transformers' Trainer with the order, the schedule and the progress bar of this module."""

    def __init__(self, model: Any, plan: Plan, *, train: list[Example], held: list[Example]) -> None:
        self._lengths = np.array([len(example["input_ids"]) for example in train])
        config = model.config.to_dict()
        longest, padding = family_of(config).longest_input(config), padding_of(model.config)
        assert padding is not None  # `check_padding` refuses such a model
        super().__init__(
            model,
            arguments(plan, reviews=len(train)),
            data_collator=Padding(padding, longest=longest),
            train_dataset=train,
            eval_dataset=held,
            compute_metrics=accuracy,
            callbacks=[ProgressBar(), Schedule(plan.patience)],
        )
        self.remove_callback(PrinterCallback)

    def _get_train_sampler(self, train_dataset: Any = None) -> Order:
        return Order(self, self._lengths)

    def _run_epoch(self, *epoch: Any, **of: Any) -> None:
        """Skip the epochs of a run that was killed after it had stopped: Trainer checks only after a step whether to stop."""
        if not self.control.should_training_stop:
            super()._run_epoch(*epoch, **of)


@dataclass(frozen=True)
class Padding:
    """Joins examples into a batch, padded to one length."""

    pad_id: int
    longest: int

    def __call__(self, examples: list[Example]) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask` (review, token), `labels` (review,)."""
        lengths = [len(example["input_ids"]) for example in examples]
        width = min(math.ceil(max(lengths) / MULTIPLE) * MULTIPLE, self.longest)
        rows = [[*example["input_ids"], *[self.pad_id] * (width - len(example["input_ids"]))] for example in examples]
        real = torch.arange(width) < torch.tensor(lengths)[:, None]
        labels = torch.tensor([example["labels"] for example in examples])
        return {"input_ids": torch.tensor(rows), "attention_mask": real.long(), "labels": labels}


def arguments(plan: Plan, *, reviews: int) -> TrainingArguments:
    """The plan as transformers' arguments."""
    steps = math.ceil(reviews / plan.batch)
    judged_every = math.ceil(steps / EVALUATIONS)
    chosen = TrainingArguments(
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
    chosen._n_gpu = min(chosen.n_gpu, 1)  # with several, Trainer would make larger batches than were asked for
    return chosen


def accuracy(prediction: EvalPrediction) -> dict[str, float]:
    """Share of the reviews whose label has the highest output."""
    return {"accuracy": float((np.argmax(prediction.predictions, axis=-1) == prediction.label_ids).mean())}


def train(trainer: ClassifierTrainer, *, last: Path | None) -> dict[str, Any]:
    """Train, resuming from the checkpoint `last`; the model is then that of its best evaluation."""
    trainer.train(resume_from_checkpoint=None if last is None else str(last))
    state = trainer.state
    evaluations = [evaluation for evaluation in state.log_history if "eval_accuracy" in evaluation]
    best = next(evaluation for evaluation in evaluations if evaluation["step"] == state.best_global_step)
    return {
        "accuracy": best["eval_accuracy"],
        "loss": best["eval_loss"],
        "step": best["step"],
        "steps": state.global_step,
        "planned_steps": state.max_steps,
        "seconds": seconds(state),
        "epochs": state.epoch,
        "curve": [
            {"step": evaluation["step"], "accuracy": evaluation["eval_accuracy"], "loss": evaluation["eval_loss"]}
            for evaluation in evaluations
        ],
    }


class Schedule(TrainerCallback):
    """Saves checkpoints more often than it evaluates, evaluates the last step, and stops early.

    The callback reads the state alone, so that a resumed run stops where the killed run would have stopped.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Find the best checkpoint again, and stop where a killed run had stopped: its folder may have moved."""
        best = Path(str(args.output_dir), f"checkpoint-{state.best_global_step}")
        state.best_model_checkpoint = str(best) if best.is_dir() else None
        self.on_evaluate(args, state, control)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Save checkpoints between the evaluations, and evaluate the last step."""
        every = max(1, int(args.eval_steps or 1) // CHECKPOINTS)
        control.should_save |= state.global_step % every == 0
        control.should_evaluate |= state.global_step == state.max_steps

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Stop where the accuracy has not risen for `patience` evaluations."""
        control.should_training_stop |= no_better([accuracy for _, accuracy in judged(state)], patience=self._patience)


def judged(state: TrainerState) -> list[tuple[int, float]]:
    """Step and held-out accuracy of every evaluation so far."""
    return [(int(entry["step"]), entry["eval_accuracy"]) for entry in state.log_history if "eval_accuracy" in entry]


def no_better(accuracies: Sequence[float], *, patience: int) -> bool:
    """Whether the last `patience` accuracies are no higher than the best before them."""
    return len(accuracies) > 0 and len(accuracies) - 1 - int(np.argmax(accuracies)) >= patience


class ProgressBar(TrainerCallback):
    """A bar with loss and held-out accuracy. Logs `seconds`: the time of training over all runs."""

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Show the bar, for a resumed run from its checkpoint on."""
        self._bar = bar("finetune", total=state.max_steps, unit="steps", done=state.global_step)
        self._before = seconds(state)
        self._start = time.monotonic()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Advance the bar."""
        self._bar.update()

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Show the loss of the last steps and the accuracy of the last evaluation."""
        state.log_history[-1]["seconds"] = self._before + time.monotonic() - self._start
        losses = [entry["loss"] for entry in state.log_history if "loss" in entry]
        shown = {"loss": f"{losses[-1]:.3f}"} if losses else {}
        shown |= {"held-out accuracy": f"{judged(state)[-1][1]:.3f}"} if judged(state) else {}
        self._bar.set_postfix(shown, refresh=False)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Leave the bar on the screen."""
        self._bar.close()


def seconds(state: TrainerState) -> float:
    """Seconds of training so far, over all runs."""
    return max((entry["seconds"] for entry in state.log_history if "seconds" in entry), default=0.0)
