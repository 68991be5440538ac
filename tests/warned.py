"""Warnings of transformers, which has its own log; a model may have raised the level of that log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def warned() -> Iterator[list[str]]:
    log, handler = logging.getLogger("transformers"), _Kept()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.WARNING)
    try:
        yield handler.messages
    finally:
        log.setLevel(level)
        log.removeHandler(handler)
