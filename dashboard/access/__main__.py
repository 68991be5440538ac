"""`headscape users`: add, change, remove and list the people who sign in with a password; end anybody's sessions."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from getpass import getpass
from pathlib import Path
from typing import TextIO, get_args

from dashboard.access.person import Role
from dashboard.access.private_file import AccessFileError
from dashboard.access.settings import add_folder_flags, folders
from store.process import check_extra
from store.repository.errors import StoreError


def main(
    arguments: Sequence[str] | None = None, typed: TextIO | None = None, ask: Callable[[str], str] = getpass
) -> int:
    """Exit status 0, or 1 after a sentence on what to do next; passwords are asked for at a terminal, or read from piped input."""
    options = _parser().parse_args(arguments, argparse.Namespace(typed=typed or sys.stdin, ask=ask))
    try:
        check_extra("dashboard")
        _COMMANDS[options.command](options)
    except (AccessFileError, StoreError) as error:
        print(f"users: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headscape users", description="People who sign in with a password.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, explanation in _EXPLANATIONS.items():
        command = commands.add_parser(name, help=explanation, description=explanation)
        if name != "list":
            command.add_argument("name", metavar="NAME")
        if name in ("add", "role"):
            command.add_argument("--role", choices=get_args(Role), default="reader", help="authors write notes")
        if name == "token":
            command.add_argument("--days", type=int, default=90, help="days until it ends (default 90)")
        add_folder_flags(command)
    return parser


def _add(options: argparse.Namespace) -> None:
    from dashboard.access.users import add_user

    add_user(_file(options), options.name, options.role, _new_password(options))
    print(f"{options.name} may sign in as {options.role}.")


def _set_password(options: argparse.Namespace) -> None:
    from dashboard.access.users import change_user

    change_user(_file(options), options.name, password=_new_password(options))
    print(f"{options.name} has a new password; all sessions with the old one have ended.")


def _set_role(options: argparse.Namespace) -> None:
    from dashboard.access.users import change_user

    change_user(_file(options), options.name, role=options.role)
    print(f"{options.name} is {options.role} now.")


def _remove(options: argparse.Namespace) -> None:
    from dashboard.access.users import remove_user

    remove_user(_file(options), options.name)
    print(f"{options.name} may no longer come in.")


def _list(options: argparse.Namespace) -> None:
    from dashboard.access.users import watched_users

    for name, user in sorted(watched_users(_file(options)).value.items()):
        print(f"{name}\t{user.role}")


def _revoke(options: argparse.Namespace) -> None:
    from dashboard.access.users import EndedSessions

    state, _ = folders(options)
    try:
        options.name.encode()  # no file lists a provider's people: any other name may be theirs
    except UnicodeError as error:
        raise AccessFileError(f"The name {options.name!a} is not UTF-8. Type it in UTF-8.") from error
    EndedSessions(state).end_all(options.name.lower())
    print(f"All sessions and tokens of {options.name} have ended.")


def _token(options: argparse.Namespace) -> None:
    from dashboard.access.account import issue_token

    state, users = folders(options)
    print(issue_token(state, users, options.name.lower(), options.days))


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "add": _add,
    "password": _set_password,
    "role": _set_role,
    "remove": _remove,
    "list": _list,
    "revoke": _revoke,
    "token": _token,
}
_EXPLANATIONS = {
    "add": "Add a user; the password is asked twice, or read from standard input.",
    "password": "Give a user another password; sessions with the old one end.",
    "role": "Make a user a reader or an author.",
    "remove": "Remove a user; all sessions end.",
    "list": "List names and roles.",
    "revoke": "End all sessions and tokens of a person, of a provider's too.",
    "token": "Print a token by which scripts of a user read /api/1: Authorization: Bearer TOKEN.",
}


def _file(options: argparse.Namespace) -> Path:
    return folders(options)[1]


def _new_password(options: argparse.Namespace) -> str:
    """The password, in UTF-8 like a password from the sign-in page; AccessFileError where it is not."""
    try:
        password = _typed_password(options)
        password.encode()  # in the C locale, Python reads other bytes as lone surrogates
    except UnicodeError as error:
        raise AccessFileError("The password is not UTF-8. Type it in UTF-8.") from error
    return password


def _typed_password(options: argparse.Namespace) -> str:
    """The password: typed twice at a terminal, or the first line of piped input."""
    if not options.typed.isatty():
        return str(options.typed.readline()).rstrip("\r\n")
    password = str(options.ask("Password: "))
    if password != options.ask("The same again: "):
        raise AccessFileError("The two passwords differ. Type the same one twice.")
    return password


if __name__ == "__main__":
    sys.exit(main())
