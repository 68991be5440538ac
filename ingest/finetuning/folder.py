"""The folder of a fine-tuning: what was asked of it, how far it is, and its result."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ingest.errors import IngestError

#: Of a checkpoint, what makes its tokenizer. They are copied byte by byte: the result reads the same corpus.
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "special_tokens_map.json",
    "added_tokens.json",
)


class Folder:
    """Where a result is to stand. `metrics.json` is written last: a folder with it is finished."""

    def __init__(self, path: Path, asked: Mapping[str, Any]) -> None:
        self.path, self.asked = path, json.loads(json.dumps(asked))
        self.checkpoints = path / "checkpoints"
        self._begun, self._finished = self.checkpoints / "asked.json", path / "metrics.json"

    def begin(self) -> None:
        """Make it, or find it as the same settings left it.

        Raises
        ------
        IngestError
            Where it cannot be written, or holds something else.
        """
        try:
            self._check()
            if not self.finished:
                self.checkpoints.mkdir(parents=True, exist_ok=True)
                _write(self._begun, {"asked": self.asked})
        except OSError as error:
            raise IngestError(
                f"{self.path} cannot be written ({error.strerror or type(error).__name__}). Give OUT=<a folder of yours>."
            ) from error

    @property
    def finished(self) -> bool:
        """Whether the result is there."""
        return self._finished.is_file()

    @property
    def metrics(self) -> dict[str, Any]:
        """What was measured of the result."""
        return _read(self._finished) or {}

    def last_checkpoint(self) -> Path | None:
        """The newest that is whole; one that was being written when the run was killed is removed."""
        for folder in sorted(self.checkpoints.glob("checkpoint-*"), key=_step, reverse=True):
            if _read(folder / "trainer_state.json"):  # the last file of a checkpoint
                return folder
            shutil.rmtree(folder)
        return None

    def save(self, model: Any, start: Path, card: str) -> None:
        """The checkpoint, with the tokenizer it started with."""
        model.save_pretrained(self.path)
        for name in TOKENIZER_FILES:
            if (start / name).is_file():
                shutil.copyfile(start / name, self.path / name)
        (self.path / "README.md").write_text(card, "utf-8")

    def finish(self, metrics: Mapping[str, Any]) -> None:
        """The result is whole."""
        _write(self._finished, {"asked": self.asked, **metrics})
        self.remove_checkpoints()

    def remove_checkpoints(self) -> None:
        """They serve only to go on."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    def _check(self) -> None:
        known = _read(self._finished) or (_read(self._begun) if self.last_checkpoint() else None)
        if known:
            self._compare(known["asked"])
        elif self._foreign():
            raise IngestError(f"{self.path} is not empty, and holds no fine-tuned model. Give OUT=<a new folder>.")

    def _compare(self, known: Mapping[str, Any]) -> None:
        names = sorted(name for name in self.asked.keys() | known.keys() if self.asked.get(name) != known.get(name))
        if names:
            said = ", ".join(f"{name.upper()} was {known.get(name)}" for name in names)
            raise IngestError(
                f"{self.path} holds a model that was asked for with other settings ({said}). "
                "Give another OUT, or the same settings, or remove that folder."
            )

    def _foreign(self) -> bool:
        """Whether there is anything that no fine-tuning begins with."""
        own = {self._begun, self._begun.with_suffix(".new")}
        return any(one.is_file() and one not in own for one in self.path.rglob("*"))


def _step(folder: Path) -> int:
    return int(folder.name.rpartition("-")[2])


def _read(path: Path) -> dict[str, Any] | None:
    """What is in a file of JSON; None where it is not there or not whole."""
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (FileNotFoundError, ValueError):
        return None


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    new.replace(path)
