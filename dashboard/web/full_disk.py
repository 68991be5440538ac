"""A temporary folder that is full: what waits there goes on in memory, and what only saves time is left out."""

from io import BytesIO, RawIOBase
from tempfile import TemporaryFile
from typing import IO, Any


class OverflowFile:
    """A temporary file that goes on in memory where the disk is full."""

    def __init__(self) -> None:
        self._file: IO[bytes] | RawIOBase
        try:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115  # what a buffer cannot write, it cannot read either
        except OSError:
            self._file = BytesIO()

    def __getattr__(self, name: str) -> Any:
        """Whatever a file has beside `write`."""
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        """Write all of it; returns its length."""
        begin, rest = self._file.tell(), memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError:
            self._go_on_in_memory(begin)
            self._file.write(data)
        return len(data)

    def _go_on_in_memory(self, size: int) -> None:
        self._file.seek(0)
        content = BytesIO()
        content.write(self._file.read(size) or b"")
        self._file.close()
        self._file = content


def let_answers_overflow() -> None:
    """Let answers and bodies of waitress go on in memory where the disk is full: it would end their connections."""
    from waitress.buffers import TempfileBasedBuffer

    TempfileBasedBuffer.newfile = lambda _: OverflowFile()
