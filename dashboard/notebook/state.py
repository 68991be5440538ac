"""The state of a widget: what its reader chose. A program may set it too: impossible values are refused before anything is drawn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from store import StoreError
from store.repository.errors import is_integer

State = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """Allowed values of a part of a state: the numbers of a range, or some texts.

    Attributes
    ----------
    several
        Whether the part is a list of these values.
    optional
        Whether the part may be None.
    """

    of: range | Sequence[str]
    several: bool = False
    optional: bool = False

    def checked(self, name: str, value: Any) -> Any:
        """The value, with numbers that JSON can write; StoreError where the value is not allowed."""
        if value is None and self.optional:
            return None
        is_list = isinstance(value, Iterable) and not isinstance(value, str)
        each = list(value) if is_list else [value]
        plain = [int(one) if isinstance(self.of, range) and is_integer(one) else one for one in each]
        if is_list != self.several or not all(map(self._has, plain)):
            raise StoreError(f"A state cannot have {name} = {value!r:.60}. Choose {self._offer}.")
        return plain if self.several else plain[0]

    def _has(self, one: object) -> bool:
        return isinstance(one, int if isinstance(self.of, range) else str) and one in self.of

    @property
    def _offer(self) -> str:
        many = "some of " if self.several else ""
        if isinstance(self.of, range):
            offer = f"{many or 'one of '}the numbers {self.of.start} to {self.of.stop - 1}"
        else:
            offer = f"one of {', '.join(self.of)}"
        return f"{offer}, or None" if self.optional else offer


def checked(state: State, choices: Mapping[str, Choice]) -> State:
    """The state after a check of each of these parts; StoreError where a value is not allowed."""
    return state | {name: choice.checked(name, state[name]) for name, choice in choices.items()}
