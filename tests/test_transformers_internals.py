"""The private parts of transformers that `ingest.finetuning.training` overrides: whether they exist, and are called as expected.

Where one of these fails after an update, transformers' Trainer has changed; adapt training.py, then the range in pyproject.toml.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from ingest.finetuning.data import Example
from ingest.finetuning.training import ClassifierTrainer, Order, Plan, arguments


class Noted(Trainer):
    """A trainer that notes the epochs that transformers' own method runs."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.epochs: list[int] = []

    def _run_epoch(self, *positional: Any, **named: Any) -> None:
        self.epochs.append(named["epoch"])
        super()._run_epoch(*positional, **named)


class Listening(ClassifierTrainer, Noted):
    """The trainer of `ingest.finetuning`, on top of a trainer that notes epochs."""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(2, 3, 1e-3, 0, torch.device("cpu"), "float32", tmp_path / "checkpoints", patience=100)


@pytest.fixture
def trainer(plan: Plan) -> Listening:
    """A trainer on 4 reviews, 2 in each step."""
    sizes: Any = {"hidden_size": 4, "intermediate_size": 4, "num_attention_heads": 1, "num_hidden_layers": 1}
    model = BertForSequenceClassification(BertConfig(vocab_size=8, max_position_embeddings=32, **sizes))
    examples: list[Example] = [{"input_ids": [1, 2, 3 + number], "labels": number % 2} for number in range(4)]
    return Listening(model, plan, train=examples, held=examples[:2])


def test_the_trainer_runs_every_epoch_by_the_method_that_is_overridden(trainer: Listening) -> None:
    trainer.train()
    assert trainer.epochs == [0, 1, 2]
    assert trainer.state.global_step == 6


def test_the_trainer_runs_no_epoch_once_it_should_stop(trainer: Listening) -> None:
    trainer.control.should_training_stop = True
    trainer._run_epoch(epoch=0)
    assert trainer.epochs == []


def test_the_trainer_takes_the_order_of_its_sampler(trainer: ClassifierTrainer) -> None:
    sampler = trainer.get_train_dataloader().batch_sampler.sampler
    assert isinstance(sampler, Order)
    assert sorted(sampler) == [0, 1, 2, 3]


def test_the_number_of_devices_multiplies_a_batch(plan: Plan) -> None:
    chosen = arguments(plan, reviews=4)
    chosen._n_gpu = 4
    assert chosen.train_batch_size == 4 * plan.batch


def test_a_step_takes_one_of_several_devices(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrainingArguments, "n_gpu", 4)
    assert arguments(plan, reviews=4)._n_gpu == 1
