"""What of a file is left out while it is read, counted by cause."""

from dataclasses import dataclass, field

from ingest.run.errors import IngestError, short
from ingest.run.progress import say
from store.phrases import many


class UnusableError(ValueError):
    """A part of a file cannot be used; `cause` is what it shares with others, the message what is wrong with this one."""

    def __init__(self, cause: str, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause


@dataclass
class LeftOut:
    """Parts of a file that are left out: how many of each cause, and what is wrong with the first."""

    noun: str
    name: str
    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, where: str, error: UnusableError) -> None:
        """Count the part that stands there."""
        self.counts[error.cause] = self.counts.get(error.cause, 0) + 1
        self.first.setdefault(error.cause, f"{where} {error}")

    def tell(self, read: int, remedy: str) -> None:
        """Say what is left out.

        Raises
        ------
        IngestError
            Where no part was read; the message ends with the remedy.
        """
        if not self.counts:
            return
        causes = "; ".join(f"{count:,} {cause} ({self.first[cause]})" for cause, count in self.counts.items())
        sentence = f"{many(sum(self.counts.values()), self.noun)} of {short(self.name)} left out: {causes}."
        if not read:
            raise IngestError(f"{sentence} {remedy}")
        say(f"{sentence} Mend the file to have all.")
