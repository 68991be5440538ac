"""Whatever is wrong with the settings and the data of a fine-tuning, a person gets one sentence that says what to do."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.finetuning.__main__ import main
from ingest.finetuning.run import Folder, held_reviews
from ingest.finetuning.settings import FinetuningSettings, parse
from ingest.run.errors import IngestError
from tests.broken_model import add_pieces, change_config
from tests.complaints import complaint_of
from tests.family_models import save_family
from tests.finetuned import write_opinions

Complaint = Callable[..., str]
#: Files of a checkpoint without which Trainer does not resume, or resumes to other weights.
CHECKPOINT_FILES = ("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth")


@pytest.fixture
def refused(tiny_model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Complaint:
    def refused(**settings: object) -> str:
        data = write_opinions(tmp_path / "opinions.csv", reviews=20)
        arguments = {"model": tiny_model, "data": data, "out": tmp_path / "out", "max_length": 24} | settings
        return complaint_of(main, "finetune", arguments, capfd)

    return refused


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"model": "nobody/nothing"}, "neither a local folder nor "),
        ({"data": "nobody/nothing"}, "neither a local file nor in the cache"),
        ({"data": "missing.csv"}, "no data file missing.csv"),
        ({"text": "body"}, "no column 'body', it has: text, label"),
        ({"label": "stars"}, "label column 'stars' is not in opinions, which has: text, label"),
        ({"epochs": 0}, "--epochs=0 is too few"),
        ({"epochs": "1.5"}, "--epochs=1.5 is not a whole number"),
        ({"batch": 0}, "--batch=0 is too few"),
        ({"learning_rate": 0}, "--learning-rate=0.0 is no step size"),
        ({"learning_rate": -1e-4}, "--learning-rate=-0.0001 is no step size"),
        ({"learning_rate": "nan"}, "--learning-rate=nan is no step size"),
        ({"learning_rate": "inf"}, "--learning-rate=inf is no step size"),
        ({"learning_rate": "fast"}, "--learning-rate=fast is not a number"),
        ({"max_length": 2}, "--max-length=2 leaves no room"),
        ({"max_length": 129}, "reads at most 128 wordpieces"),
        ({"freeze": -1}, "--freeze=-1 is too few"),
        ({"freeze": 3}, "--freeze=3 is more than the 2 layers of tiny-bert"),
        ({"seed": -1}, "--seed=-1 is not within 32 bits"),
        ({"seed": 1 << 32}, f"--seed={1 << 32} is not within 32 bits"),
        ({"device": "tpu"}, "no device 'tpu'"),
        ({"first": "few"}, "--first=few is no number of reviews"),
        ({"first": 3}, "--first=3 leaves fewer than two reviews of each label. Give at least 4."),
        ({"split": "test"}, "opinions has no splits. Give no --data-split=test"),
        ({"split": "test", "data_split": "dev"}, "--split=test and --data-split=dev differ"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(settings: dict[str, object], part: str, refused: Complaint) -> None:
    assert part in refused(**settings)


def test_a_model_that_is_not_there_is_refused_before_torch_is_imported(
    refused: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ingest.finetuning.run", None)  # to import it fails
    assert "neither a local folder nor " in refused(model="nobody/nothing")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("text,label\ngood,1\nbad,1\nsad,1\n", "have one label (1)"),
        ("text,label\ngood,1\nbad,0\nsad,0\n", "and has fewer of 1."),
        ("text,label\ngood,1\ngood,1\nbad,0\nsad,0\n", "and has fewer of 1."),
        ("text,label\ngood,\nbad,\n", "label column 'label' is empty in odd"),
        ("text\ngood\nbad\n", "label column 'label' is not in odd, which has: text"),
        ("text,label\n" + "".join(f"film {n},{n}\n" for n in range(9)), "of 0, 1, 2, 3, 4, 4 others."),
    ],
)
def test_data_that_teaches_nothing_is_refused(content: str, part: str, refused: Complaint, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text(content)
    assert part in refused(data=tmp_path / "odd.csv")


def test_a_model_whose_layers_are_of_another_shape_is_refused(
    refused: Complaint, tiny_model: Path, tmp_path: Path
) -> None:
    """transformers would fill the layers with random numbers, as it may fill the classifier."""
    broken = Path(shutil.copytree(tiny_model, tmp_path / "broken"))
    config = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps(config | {"intermediate_size": 48}))
    assert "(16, 32), where config.json says (16, 48)" in refused(model=broken)


@pytest.mark.parametrize(
    ("configuration", "part"),
    [
        ({"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "jumanpp"}, "pip install rhoknp."),
        ({"tokenizer_class": "CanineTokenizer"}, "(CanineTokenizer) does not tell which characters"),
    ],
)
def test_a_tokenizer_that_cannot_be_read_is_refused_before_the_training(
    configuration: dict[str, str], part: str, refused: Complaint, broken: Path, tmp_path: Path
) -> None:
    (broken / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    (broken / "tokenizer_config.json").write_text(json.dumps(configuration))
    assert part in refused(model=broken)
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_with_more_wordpieces_than_rows_is_refused_before_the_training(
    refused: Complaint, broken: Path, tmp_path: Path
) -> None:
    pieces = add_pieces(broken, "zork")
    assert refused(model=broken).endswith(f"model.resize_token_embeddings({pieces}).")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model_type", "changes", "told"),
    [
        (
            "gpt2",
            {"pad_token_id": None, "eos_token_id": 50256},
            "pads with eos_token_id = 50256, which is none of its ",
        ),
        ("gpt2", {"pad_token_id": None, "eos_token_id": None}, "names no padding, so reviews"),
        ("bert", {"pad_token_id": None}, "names no padding, so reviews"),
    ],
)
def test_a_model_whose_padding_is_no_wordpiece_is_refused(
    model_type: str, changes: dict[str, int | None], told: str, refused: Complaint, tmp_path: Path
) -> None:
    model = save_family(tmp_path / "model", model_type)
    change_config(model, **changes)
    complaint = refused(model=model)
    assert f"model {told}" in complaint
    assert "Give config.json a pad_token_id below " in complaint
    assert not (tmp_path / "out").exists()


def test_refused_settings_leave_no_folder_behind(refused: Complaint, tmp_path: Path) -> None:
    refused(label="stars")
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_is_refused(refused: Complaint, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written (Not a directory)" in refused(out=tmp_path / "file" / "out")
    assert "cannot be written" in refused(out=tmp_path / "file")


def test_a_file_in_the_place_of_the_folder_holds_no_reviews(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert held_reviews(tmp_path / "file") == []


def test_a_second_run_in_the_same_folder_is_refused(refused: Complaint, tmp_path: Path) -> None:
    with Folder(tmp_path / "out", {}).lock():
        assert "Another fine-tuning is writing" in refused()
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_else_is_left_as_it_is(refused: Complaint, tmp_path: Path) -> None:
    (tmp_path / "out" / "notes").mkdir(parents=True)
    (tmp_path / "out" / "notes" / "mine.txt").write_text("mine")
    assert "is not empty, and holds no fine-tuned model" in refused()
    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["notes", "mine.txt"]


def test_a_folder_with_the_checkpoints_of_something_else_is_left_as_it_is(refused: Complaint, tmp_path: Path) -> None:
    for name in ("checkpoint-7", "checkpoint-best"):
        (tmp_path / "out" / "checkpoints" / name).mkdir(parents=True)
        (tmp_path / "out" / "checkpoints" / name / "model.pt").write_text("mine")
    assert "is not empty, and holds no fine-tuned model" in refused()
    assert len(list((tmp_path / "out").rglob("model.pt"))) == 2


@pytest.mark.parametrize("content", ['{"f1": 0.9}', "[1]", '[["asked", 1]]', '{"asked": 3}'])
def test_a_folder_with_the_metrics_of_something_else_is_refused(
    content: str, refused: Complaint, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "metrics.json").write_text(content)
    assert "is not empty, and holds no fine-tuned model" in refused()


@pytest.fixture
def begun_folder(tmp_path: Path) -> Path:
    """The folder of a run that was killed."""
    Folder(tmp_path / "out", {"epochs": 3}).begin()
    write_checkpoint(tmp_path / "out" / "checkpoints" / "checkpoint-5")
    return tmp_path / "out"


def write_checkpoint(folder: Path) -> Path:
    """Write the files of a checkpoint of Trainer, all but one empty."""
    folder.mkdir()
    for name in CHECKPOINT_FILES:
        (folder / name).write_text("")
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 5}))
    return folder


def test_a_folder_of_other_settings_is_refused(begun_folder: Path) -> None:
    with pytest.raises(IngestError, match=r"other settings \(--epochs was 3\)\. Give another --out"):
        Folder(begun_folder, {"epochs": 4}).begin()
    assert Folder(begun_folder, {"epochs": 3}).last_checkpoint() == begun_folder / "checkpoints" / "checkpoint-5"


def test_a_finished_folder_of_other_settings_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out", {"epochs": 3})
    folder.begin()
    folder.finish({})
    with pytest.raises(IngestError, match=r"other settings \(--epochs was 3\)"):
        Folder(tmp_path / "out", {"epochs": 4}).begin()


def test_other_settings_are_accepted_before_the_first_checkpoint(tmp_path: Path) -> None:
    Folder(tmp_path / "out", {"epochs": 3}).begin()
    Folder(tmp_path / "out", {"epochs": 4}).begin()
    assert json.loads((tmp_path / "out" / "checkpoints" / "asked.json").read_text()) == {"asked": {"epochs": 4}}


def test_a_checkpoint_that_is_not_whole_is_none(begun_folder: Path) -> None:
    broken = write_checkpoint(begun_folder / "checkpoints" / "checkpoint-10")
    (broken / "trainer_state.json").write_text('{"global_st')
    assert Folder(begun_folder, {"epochs": 3}).last_checkpoint() == begun_folder / "checkpoints" / "checkpoint-5"
    assert not broken.exists()


@pytest.mark.parametrize("name", CHECKPOINT_FILES)
def test_a_checkpoint_that_was_being_removed_is_none(name: str, begun_folder: Path) -> None:
    (write_checkpoint(begun_folder / "checkpoints" / "checkpoint-10") / name).unlink()
    assert Folder(begun_folder, {"epochs": 3}).last_checkpoint() == begun_folder / "checkpoints" / "checkpoint-5"


def test_folders_that_are_no_checkpoint_are_left_alone(begun_folder: Path) -> None:
    (begun_folder / "checkpoints" / "checkpoint-best").mkdir()
    assert Folder(begun_folder, {"epochs": 3}).last_checkpoint() == begun_folder / "checkpoints" / "checkpoint-5"


def test_every_setting_has_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    shown = capsys.readouterr().out
    assert all(f"--{name.replace('_', '-')} " in shown for name in FinetuningSettings.__dataclass_fields__)


def test_make_hands_on_every_setting() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text().replace("\\\n", "")
    recipe = next(line for line in makefile.splitlines() if "$(RUN) finetune" in line)
    flags = {f'--{name.replace("_", "-")}="$${name.upper()}"' for name in FinetuningSettings.__dataclass_fields__}
    assert {flag for flag in flags if flag not in recipe} == set()
