"""The person who sends a request: a name and a role.

Imports flask late: flags of access name roles, and are read before it is known whether the extra is installed.
"""

from dataclasses import dataclass
from typing import Literal

Role = Literal["reader", "author"]
#: Characters of a name: as many as records hold.
LONGEST_NAME = 200


@dataclass(frozen=True)
class Person:
    """Somebody who may read; an author writes notes too."""

    name: str
    role: Role

    @property
    def writes(self) -> bool:
        """Whether this person may write notes."""
        return self.role == "author"


#: The person of every request where the server asks nobody to sign in; by default it then answers its own machine alone.
LOCAL = Person("local", "author")


def is_name(text: str) -> bool:
    """Whether a text can name a person in a record and in a line."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable()


def sign_request(person: Person) -> None:
    """Note who sends the request that is being answered; the gate does, before anything else."""
    from flask import g

    g.person = person


def current_person() -> Person:
    """The person who sends the request that is being answered."""
    from flask import g, has_app_context

    person: Person = g.get("person", LOCAL) if has_app_context() else LOCAL
    return person
