"""A copy of the tiny checkpoint, to be broken, and how a test breaks it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from ingest.run.errors import IngestError
from tests.complaints import INSTRUCTION


@pytest.fixture
def broken(tiny_model: Path, tmp_path: Path) -> Path:
    """A copy of the tiny checkpoint, to be broken."""
    return Path(shutil.copytree(tiny_model, tmp_path / "broken"))


def change_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def change_weights(model: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    path = model / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, metadata={"format": "pt"})


def add_pieces(model: Path, *pieces: str) -> int:
    """Add wordpieces to the tokenizer alone; returns the new number of its wordpieces."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.add_tokens(list(pieces))
    tokenizer.save_pretrained(model)
    return len(tokenizer)


def works_or_is_refused(work: Callable[[], object]) -> None:
    """Assert that `work` succeeds, or that it is refused in one sentence that says what to do."""
    message = "It worked. Give more."
    try:
        work()
    except IngestError as error:
        message = str(error)
    assert INSTRUCTION.search(message), message
    assert message.isprintable(), message
