"""What a reader of a widget chose. A program may set it too: what is not there is refused before anything is drawn of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from store import StoreError
from store.repository.errors import is_integer

State = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """What a part of a state may be: a number of a range or one of some texts.

    Attributes
    ----------
    several
        Whether it is a list of such.
    optional
        Whether it may be None.
    """

    of: range | Sequence[str]
    several: bool = False
    optional: bool = False

    def checked(self, name: str, value: Any) -> Any:
        """The value, its numbers as JSON has them; StoreError where it is not one of these."""
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
    """The state with each of these parts as it may be; StoreError where one is not."""
    return state | {name: choice.checked(name, state[name]) for name, choice in choices.items()}
