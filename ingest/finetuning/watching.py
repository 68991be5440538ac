"""What a person sees of a training, and how long it took."""

import time
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ingest.finetuning.schedule import judged
from ingest.progress import bar


class Watching(TrainerCallback):
    """A bar with loss and held-out accuracy; `seconds` in the log: those of the training, of all its runs."""

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """A run that goes on begins where the last one was kept."""
        self._bar = bar("finetune", total=state.max_steps, unit="steps", done=state.global_step)
        self._before = seconds(state)
        self._start = time.monotonic()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """One step more."""
        self._bar.update()

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Loss of the last steps, accuracy of the last evaluation."""
        state.log_history[-1]["seconds"] = self._before + time.monotonic() - self._start
        losses = [one["loss"] for one in state.log_history if "loss" in one]
        shown = {"loss": f"{losses[-1]:.3f}"} if losses else {}
        shown |= {"held-out accuracy": f"{judged(state)[-1][1]:.3f}"} if judged(state) else {}
        self._bar.set_postfix(shown, refresh=False)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """The bar stays."""
        self._bar.close()


def seconds(state: TrainerState) -> float:
    """How long the training took so far."""
    return max((one["seconds"] for one in state.log_history if "seconds" in one), default=0.0)
