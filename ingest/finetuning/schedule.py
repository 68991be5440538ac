"""When a training is judged, kept and stopped."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

#: In an epoch.
EVALUATIONS = 4
#: Checkpoints for each evaluation: a killed run loses no more than a sixteenth of an epoch.
CHECKPOINTS = 4
#: Evaluations without a better accuracy after which the training stops.
PATIENCE = 4


class Schedule(TrainerCallback):
    """Keeps more often than it judges, judges the last step, and stops early.

    Everything it needs to know is in the state, so that a run that was killed stops where it would have stopped.
    """

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """A run may have been killed after it was stopped, and its folder moved."""
        best = Path(str(args.output_dir), f"checkpoint-{state.best_global_step}")
        state.best_model_checkpoint = str(best) if best.is_dir() else None
        self.on_evaluate(args, state, control)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """What is due beside the evaluations at every `eval_steps`."""
        every = max(1, int(args.eval_steps or 1) // CHECKPOINTS)
        control.should_save |= state.global_step % every == 0
        control.should_evaluate |= state.global_step == state.max_steps

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Stops where it got no better for long."""
        control.should_training_stop |= no_better([accuracy for _, accuracy in judged(state)], patience=PATIENCE)


def judged(state: TrainerState) -> list[tuple[int, float]]:
    """Step and held-out accuracy of every evaluation so far."""
    return [(int(one["step"]), one["eval_accuracy"]) for one in state.log_history if "eval_accuracy" in one]


def no_better(accuracies: Sequence[float], *, patience: int) -> bool:
    """Whether the last `patience` accuracies are no higher than the best before them."""
    return len(accuracies) > 0 and len(accuracies) - 1 - int(np.argmax(accuracies)) >= patience
