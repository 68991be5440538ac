"""`ingest.finetuning`: the trained weights, the kept files, and that a killed run ends as if it had not been killed."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

import store
from ingest.finetuning import run, training
from ingest.finetuning.data import hold_out, read_labelled
from ingest.finetuning.run import Folder
from ingest.finetuning.settings import FinetuningSettings, choose_rate
from ingest.heads.importance import find_kind, label_outputs
from ingest.run.checkpoint import find_checkpoint
from ingest.text.reviews import find_data, read_reviews
from tests.finetuned import accuracy_of, finetune, metrics_of, weights_of, write_opinions
from tests.interruption import interruption
from tests.stores import Ingest
from tests.tiny_models import save_model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def opinions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_opinions(tmp_path_factory.mktemp("opinions") / "opinions.csv")


@pytest.fixture(scope="module")
def result(tiny_model: Path, opinions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finetune(tiny_model, opinions, tmp_path_factory.mktemp("result") / "opinionated")


def test_the_result_tells_the_labels_apart(result: Path) -> None:
    """Half of the labels would be right by chance."""
    assert metrics_of(result)["accuracy"] == 1.0


def test_the_accuracy_is_that_of_the_saved_model_on_what_was_held_out(result: Path, opinions: Path) -> None:
    labelled = read_labelled(find_data(str(opinions)), text="text", label="label")
    held = labelled.select(hold_out(labelled.labels, seed=0)[1])
    measured = metrics_of(result)
    assert (measured["accuracy"], measured["held_reviews"]) == (accuracy_of(result, held), len(held.texts))


@pytest.mark.parametrize(
    ("frozen", "trained"), [(0, ("embeddings.", "encoder.")), (1, ("encoder.layer.1.",)), (2, ("nothing",))]
)
def test_the_embeddings_and_so_many_lower_layers_stay_as_they_were(
    frozen: int, trained: tuple[str, ...], tiny_model: Path, opinions: Path, tmp_path: Path
) -> None:
    out = finetune(tiny_model, opinions, tmp_path / "out", epochs=1, freeze=frozen)
    before, after = weights_of(tiny_model), weights_of(out)
    changed = {name for name, weight in before.items() if not torch.equal(weight, after[name])}
    # Softmax does not depend on a key's bias.
    assert changed >= {name for name in before if name.startswith(trained) and "key.bias" not in name}
    assert changed <= {name for name in before if name.startswith(trained)}


def test_the_result_reads_the_corpus_of_the_model_it_started_from(result: Path, tiny_model: Path) -> None:
    assert find_checkpoint(str(result)).tokenizer_sha256 == find_checkpoint(str(tiny_model)).tokenizer_sha256
    assert find_checkpoint(str(result)).weights_sha256 != find_checkpoint(str(tiny_model)).weights_sha256


def test_the_result_is_a_classifier_of_the_labels_of_the_data(result: Path, opinions: Path) -> None:
    checkpoint = find_checkpoint(str(result))
    names = read_reviews(find_data(str(opinions)), text="text", label="label").label_names
    assert find_kind(checkpoint) == "classification"
    assert label_outputs(checkpoint.config, names).tolist() == [0, 1]


def test_ingest_takes_the_result_beside_the_model_it_started_from(
    result: Path, opinions: Path, ingest: Ingest, tmp_path: Path
) -> None:
    place = ingest(tmp_path / "store", data=opinions, sentences=20)
    ingest(tmp_path / "store", data=opinions, sentences=20, model=result, importance=5)
    snapshot = store.open_snapshot(place)
    assert {key.rpartition("-")[0] for key in snapshot.models} == {"tiny-bert", "opinionated"}
    assert len({str(attributes["corpus"]) for attributes in snapshot.models.values()}) == 1
    assert snapshot.corpus().importance is not None
    finetuned = snapshot.corpus().attributes["provenance"]["finetuned"]
    assert finetuned == {"labels": ["negative", "positive"], "held_reviews": 16, "accuracy": 1.0, "most_frequent": 0.5}


def test_the_card_says_what_was_measured(result: Path) -> None:
    card, metrics = (result / "README.md").read_text(), metrics_of(result)
    lines = [f"| {metrics['held_reviews']} | {metrics['accuracy']:.4f} | {metrics['loss']:.4f} |"]
    lines += [find_data(metrics_data(metrics)).identity, "The data has no test split."]
    lines += [
        f"| {evaluation['step']} | {evaluation['accuracy']:.4f} | {evaluation['loss']:.4f} |"
        for evaluation in metrics["curve"]
    ]
    assert [line for line in lines if line not in card] == []


def metrics_data(metrics: dict[str, object]) -> str:
    return str(metrics["asked"]["data"])


def test_only_the_result_is_left(result: Path, tiny_model: Path) -> None:
    own = {"config.json", "model.safetensors", "README.md", "metrics.json"}
    tokenizer = {path.name for path in tiny_model.iterdir()} - {"config.json", "model.safetensors"}
    assert {path.name for path in result.iterdir()} == own | tokenizer


def test_started_again_when_finished_there_is_nothing_to_do(
    result: Path, tiny_model: Path, opinions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (result / "metrics.json").stat().st_mtime_ns
    finetune(tiny_model, opinions, result)
    assert capsys.readouterr().out.startswith(
        f"Nothing to do: {result} already holds tiny-bert fine-tuned with these settings. Accuracy 1.000"
    )
    assert (result / "metrics.json").stat().st_mtime_ns == before


def test_a_finished_model_needs_no_review(
    result: Path, tiny_model: Path, opinions: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "read_labelled", lambda *_, **__: pytest.fail("the reviews are read"))
    finetune(tiny_model, opinions, result)
    assert capsys.readouterr().out.startswith("Nothing to do: ")


def test_progress_shows_loss_and_held_out_accuracy(
    tiny_model: Path, opinions: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = finetune(tiny_model, opinions, tmp_path / "out", epochs=1, freeze=2)
    shown = capfd.readouterr()
    assert re.search(
        rf"steps/s, loss=\d\.\d+, held-out accuracy={metrics_of(out)['curve'][-1]['accuracy']:.3f}\]", shown.err
    )
    assert shown.out.startswith("Saved tiny-bert fine-tuned on opinions in")
    assert shown.out.count("\n") == 1


def test_a_run_that_was_stopped_at_its_first_step_goes_on_to_the_same_weights(
    result: Path, tiny_model: Path, opinions: Path, tmp_path: Path
) -> None:
    with interruption((training.Schedule, "on_step_end"), after=1):
        finetune(tiny_model, opinions, tmp_path / "killed")
    out = finetune(tiny_model, opinions, tmp_path / "killed")
    assert_same(out, result)


def assert_same(first: Path, other: Path) -> None:
    assert {
        name for name, weight in weights_of(first).items() if not torch.equal(weight, weights_of(other)[name])
    } == set()
    assert metrics_of(first)["curve"] == metrics_of(other)["curve"]


def test_a_killed_process_goes_on_to_the_same_weights(
    result: Path, tiny_model: Path, opinions: Path, tmp_path: Path
) -> None:
    """Killed by SIGKILL in the middle of a checkpoint, which is then not whole; its lock went with it."""
    script = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom ingest.finetuning.training import ClassifierTrainer\n"
        "from tests.finetuned import finetune\n"
        "def killed(self, folder):\n"
        "    if self.state.global_step >= 45: os.kill(os.getpid(), signal.SIGKILL)\n"
        "ClassifierTrainer._save_scaler = killed\n"
        f"finetune(Path({str(tiny_model)!r}), Path({str(opinions)!r}), Path({str(tmp_path / 'killed')!r}))"
    )
    root = Path(store.__file__).parents[1]
    ended = subprocess.run([sys.executable, "-c", script], cwd=root, env=os.environ, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    broken = max((tmp_path / "killed" / "checkpoints").glob("checkpoint-*"), key=lambda path: int(path.name[11:]))
    assert not (broken / "trainer_state.json").exists()
    assert_same(finetune(tiny_model, opinions, tmp_path / "killed"), result)


def killed_after_training(model: Path, data: Path, out: Path, **settings: int) -> Path:
    """The folder of a run that was killed before its result was named."""
    with interruption((Folder, "finish"), after=0):
        finetune(model, data, out, **settings)
    return out


def test_a_run_that_was_stopped_after_training_saves_what_it_had(
    result: Path, tiny_model: Path, opinions: Path, tmp_path: Path
) -> None:
    killed_after_training(tiny_model, opinions, tmp_path / "killed")
    assert_same(finetune(tiny_model, opinions, tmp_path / "killed"), result)


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets every evaluation have the same accuracy, so that the first evaluation is the best."""
    monkeypatch.setattr(training, "accuracy", lambda _: {"accuracy": 0.5})


@pytest.fixture
def trained(half: None, tiny_model: Path, opinions: Path, tmp_path: Path) -> Path:  # noqa: ARG001
    """The folder of a run that was killed after training, and was best long before its last step."""
    return killed_after_training(tiny_model, opinions, tmp_path / "killed", epochs=1)


def test_a_run_that_was_stopped_after_training_does_not_train_again(
    trained: Path, tiny_model: Path, opinions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(transformers.Trainer, "training_step")
    measured = metrics_of(finetune(tiny_model, opinions, trained, epochs=1))
    assert measured["step"] < measured["steps"] == measured["planned_steps"]


def test_a_folder_that_was_moved_after_training_has_the_same_best_weights(
    trained: Path, tiny_model: Path, opinions: Path, tmp_path: Path
) -> None:
    best = weights_of(trained)
    moved = weights_of(finetune(tiny_model, opinions, trained.rename(tmp_path / "moved"), epochs=1))
    assert {name for name, weight in best.items() if not torch.equal(weight, moved[name])} == set()


@pytest.mark.usefixtures("half")
def test_training_stops_early_where_it_gets_no_better(tiny_model: Path, opinions: Path, tmp_path: Path) -> None:
    measured = metrics_of(finetune(tiny_model, opinions, tmp_path / "out", epochs=1, patience=1))
    assert len(measured["curve"]) == 2
    assert measured["steps"] < measured["planned_steps"]


@pytest.mark.usefixtures("half")
def test_a_run_that_was_stopped_after_it_stopped_early_does_not_train_again(
    tiny_model: Path, opinions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"epochs": 1, "patience": 1}
    whole = finetune(tiny_model, opinions, tmp_path / "whole", **settings)
    killed_after_training(tiny_model, opinions, tmp_path / "killed", **settings)
    monkeypatch.delattr(transformers.Trainer, "training_step")
    assert_same(finetune(tiny_model, opinions, tmp_path / "killed", **settings), whole)
    ended = [(metrics_of(folder)["steps"], metrics_of(folder)["epochs"]) for folder in (tmp_path / "killed", whole)]
    assert ended[0] == ended[1]


def test_a_model_of_another_classifier_gets_a_new_one(opinions: Path, tmp_path: Path) -> None:
    labels = ("one", "two", "three")
    start = save_model(tmp_path / "three", architecture="BertForSequenceClassification", labels=labels)
    out = finetune(start, opinions, tmp_path / "out", epochs=1)
    assert find_checkpoint(str(out)).config["id2label"] == {"0": "negative", "1": "positive"}
    assert weights_of(out)["classifier.weight"].shape[0] == 2


@pytest.mark.parametrize(("size", "rate"), [(384, 1e-4), (768, 2e-5), (1024, 2e-5)])
def test_larger_models_take_smaller_steps(size: int, rate: float) -> None:
    assert choose_rate(FinetuningSettings(), size) == rate
    assert choose_rate(FinetuningSettings(learning_rate=0.5), size) == 0.5


@pytest.mark.parametrize(
    ("accuracies", "stops"),
    [([], False), ([0.5], False), ([0.6, 0.6], False), ([0.5, 0.6, 0.6, 0.5], True), ([0.5, 0.4, 0.6, 0.7], False)],
)
def test_training_stops_when_two_evaluations_in_a_row_were_no_better(accuracies: list[float], stops: bool) -> None:
    assert training.no_better(accuracies, patience=2) is stops
