"""The roles of one head: their shares, their tests, and what the head does in a sentence."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from dashboard.roles.shares import kind_number
from dashboard.ui.text import decimal
from dashboard.web.results import cached
from store import Corpus
from store.kernels.roles import LEAST_NAMED, MOST_NAMED, UNEXPLAINED
from store.kernels.rules import RULES
from store.phrases import many
from store.repository.errors import NotIngested

#: Id of the last part of the tab Role, for links: what changes without the head.
WITHOUT = "role-without"
#: Least share of a role with a row of its own.
LEAST_LISTED = 0.02
#: Most found roles that a sentence names.
MOST_FOUND = 3
#: The clause after the object in the sentence of a rule.
_ASIDE = re.compile(r", (?:which|the end|the nearer|mostly)\b.*$")
#: A sentence of a rule on certain queries: `A verb attends to its object`.
_FROM = re.compile(r"(?:In a noun phrase, )?(?P<query>[Aa]n? .*) attends (?P<key>to .*)")


@dataclass(frozen=True)
class RoleTest:
    """Whether a head has a role.

    Attributes
    ----------
    bias
        Attention to the role's words over attention to an average word; NaN where the corpus has no such pair.
    p
        The p value of the test against the threshold.
    found, replicated
        Whether the role is a discovery, and whether it is one in each half of the sentences.
    beyond_offset
        For a role of grammar, whether its words get more attention than others at the same distance; None for other roles.
    """

    bias: float
    p: float
    found: bool
    replicated: bool
    beyond_offset: bool | None

    @property
    def holds(self) -> bool:
        """Whether the head has the role, and not only because the role's words stand at a distance that the head attends to."""
        return self.found and self.beyond_offset is not False


@dataclass(frozen=True)
class RoleShare:
    """A role of a head: its share of the attention, the class of its colour, and its test; None for an untested role."""

    name: str
    title: str
    description: str
    colour: str
    share: float
    test: RoleTest | None = None


def has_roles(corpus: Corpus) -> bool:
    """Whether the ingest has computed the roles of heads."""
    try:
        return bool(corpus.roles.sizes["role"])
    except NotIngested:
        return False


def shares_of_head(corpus: Corpus, layer: int, head: int) -> dict[str, float]:
    """Name of each role -> its share in a head; also the unexplained share. NotIngested where the store has no roles."""
    of_head = corpus.roles.share.isel(layer=layer, head=head)
    return dict(zip(map(str, of_head.role.values), of_head.values.tolist(), strict=True))


def main_role(shares: Mapping[str, float]) -> str:
    """The role with the largest share, except sinks: nearly every head gives much attention to special tokens."""
    of_words = (role for role in shares if role != UNEXPLAINED and RULES[role].kind != "sinks")
    return max(of_words, key=lambda role: shares[role])


@cached
def tests_at(corpus: Corpus, threshold: str) -> xr.Dataset:
    """The tests of all heads and roles at the threshold of a link."""
    return corpus.test_roles(float(threshold))


def what_it_does(shares: Mapping[str, float]) -> str:
    """The largest roles of a head as a predicate: `attends to the next token (81%) and to the token itself (9%); ...`."""
    largest = [name for name in roles_by_share(shares) if shares[name] >= LEAST_NAMED][:MOST_NAMED]
    rest = 1 - sum(shares[name] for name in largest) - shares[UNEXPLAINED]
    left = [f"{percent(rest)} goes to smaller roles"] if largest and rest >= 0.005 else []
    ends = " and ".join([*left, f"{percent(shares[UNEXPLAINED])} is not explained"])
    if not largest:
        return f"mixes many roles, none above {100 * LEAST_NAMED:g}%; {ends}."
    named = [f"{clause(RULES[name].sentence)} ({percent(shares[name])})" for name in largest]
    return f"attends {joined(named)}; {ends}."


def beyond_chance(roles: Iterable[RoleShare], threshold: str) -> str:
    """A sentence on the roles that the test finds in a head, the largest bias first."""
    found = [(role.title, role.test) for role in roles if role.test and role.test.holds]
    if not found:
        return (
            f"No role passes the test: none gets clearly more than {threshold} times the attention of an average word."
        )
    found.sort(key=lambda role: -role[1].bias)
    named = [
        f"{title} ({decimal(test.bias, 1)} times{'' if place else ' the attention of an average word'}"
        f"{'' if test.replicated else ', in one half of the sentences only'})"
        for place, (title, test) in enumerate(found[:MOST_FOUND])
    ]
    more = [f"{len(found) - MOST_FOUND} more"] if len(found) > MOST_FOUND else []
    return f"The test finds {joined([*named, *more])}."


def joined(named: Sequence[str]) -> str:
    """A list in a sentence: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))


def clause(sentence: str) -> str:
    """The sentence of a rule as the words after `attends` in a list: `to the next token`, `from a verb to its object`."""
    plain = _ASIDE.sub("", sentence.rstrip("."))
    if found := _FROM.fullmatch(plain):
        query = found["query"]
        return f"from {query[0].lower()}{query[1:]} {found['key']}"
    return plain.removeprefix("Attends ")


def what_a_role_does(role: str) -> str:
    """What a head with the role does, for use after its name: `attends to the next token`, `a verb attends to its object`."""
    plain = _ASIDE.sub("", RULES[role].sentence.rstrip(".")).removeprefix("In a noun phrase, ")
    return f"{plain[0].lower()}{plain[1:]}"


def percent(share: float) -> str:
    """A share as a whole number: `81%`."""
    return f"{100 * share:.0f}%"


def roles_by_share(shares: Mapping[str, float]) -> list[str]:
    """Names of the roles, the largest share first, without the unexplained share."""
    return sorted((name for name in shares if name != UNEXPLAINED), key=lambda name: -shares[name])


def roles_of_head(roles: xr.Dataset, tests: xr.Dataset) -> list[RoleShare]:
    """Every role of a head, the largest share first, the unexplained share last; from `Corpus.roles` and `Corpus.test_roles`."""
    columns = (roles[name].values for name in ("role", "title", "description", "kind", "share"))
    every = [
        RoleShare(
            str(name), str(title), str(description), f"kind-{kind_number(kind)}", float(share), _test(tests, name)
        )
        for name, title, description, kind, share in zip(*columns, strict=True)
    ]
    return sorted(every, key=lambda role: (role.name == UNEXPLAINED, -role.share))


def listed_roles(every: Sequence[RoleShare]) -> tuple[RoleShare, ...]:
    """The roles in the table of a head; their shares sum to 1, as all smaller roles are one row."""
    *explained, left = every
    listed = [role for role in explained if role.share >= LEAST_LISTED]
    smaller = explained[len(listed) :]
    rest = RoleShare("", many(len(smaller), "smaller role"), "", "quiet", sum(role.share for role in smaller))
    return (*listed, *([rest] if smaller else []), replace(left, title="not explained", description=""))


def smaller_roles(every: Sequence[RoleShare]) -> tuple[RoleShare, ...]:
    """Roles that the test finds although their share is too small for a row of their own, the largest bias first."""
    found = [(role.test.bias, role) for role in every if role.share < LEAST_LISTED and role.test and role.test.holds]
    return tuple(role for _, role in sorted(found, key=lambda pair: -pair[0]))


def _test(tests: xr.Dataset, role: str) -> RoleTest | None:
    """The test of a role of one head; None for an untested role."""
    if role not in tests.role.values:
        return None
    own = tests.sel(role=role)
    beyond = bool(own.offset_found) if np.isfinite(own.offset_p) else None
    return RoleTest(float(own.bias), float(own.p), bool(own.found), bool(own.replicated), beyond)
