"""A wordpiece as a page shows it in its sentence."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """A wordpiece where it stands.

    Attributes
    ----------
    name
        As the vocabulary has it.
    text
        The text that it stands for, empty for white space.
    continues
        Whether it continues the word of the wordpiece before.
    special
        Whether it is a special token.
    """

    name: str
    text: str
    continues: bool
    special: bool

    @property
    def spaced(self) -> str:
        """Its text, after a space unless it continues a word."""
        return self.text if self.continues else f" {self.text}"
