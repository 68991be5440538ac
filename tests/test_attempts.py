"""Attempts to sign in are counted exactly over all processes, and nobody waits long."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest
from flask import Flask
from flask.testing import FlaskClient
from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from dashboard.access.sign_in import SCHEME, AttemptsFile, client, password_turns
from dashboard.access.users import change_user
from dashboard.web.errors import Refusal
from dashboard.web.processes import environment
from tests.access import (
    PASSWORD,
    cheap_passwords,  # noqa: F401
    clock,  # noqa: F401
    server,  # noqa: F401
)


@pytest.fixture
def attempts(tmp_path: Path) -> AttemptsFile:
    return AttemptsFile(f"{SCHEME}://{tmp_path}/attempts.sqlite")


def test_it_counts_as_the_storage_in_memory_does(attempts: AttemptsFile) -> None:
    memory = MemoryStorage()
    for key in "abacab":
        assert attempts.incr(key, 60) == memory.incr(key, 60)
    for key in "abcd":
        assert attempts.get(key) == memory.get(key)
    attempts.clear("a")
    assert (attempts.get("a"), attempts.get("b"), attempts.check()) == (0, 2, True)
    attempts.reset()
    assert attempts.get("b") == 0


COUNT = """
import sys
from dashboard.access.sign_in import AttemptsFile
attempts = AttemptsFile(sys.argv[1])
print(*(attempts.incr("key", 600) for _ in range(100)))
"""


@pytest.mark.slow
@pytest.mark.heavy
def test_no_attempt_is_lost_between_processes(tmp_path: Path) -> None:
    location = f"{SCHEME}://{tmp_path}/attempts.sqlite"
    command = [sys.executable, "-c", COUNT, location]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) for _ in range(2)]
    counts = [count for process in processes for count in process.communicate()[0].split()]
    assert sorted(map(int, counts)) == list(range(1, 201))


def test_an_attempt_that_another_process_counts_late_is_one_more(
    attempts: AttemptsFile,
    clock: Callable[[float], None],  # noqa: F811
) -> None:
    clock(1)
    attempts.incr("a", 60)
    clock(0)  # the other process read the clock first, and then waited for the file
    assert attempts.incr("a", 60) == 2


@pytest.mark.parametrize("seconds", [60.5, -3600])
def test_a_window_ends_also_where_the_clock_was_set_back(
    seconds: float,
    attempts: AttemptsFile,
    clock: Callable[[float], None],  # noqa: F811
) -> None:
    limits, limit = FixedWindowRateLimiter(attempts), parse("2 per minute")
    clock(0)
    assert [limits.hit(limit, "key") for _ in range(3)] == [True, True, False]
    clock(seconds)
    assert limits.hit(limit, "key")


def statuses(server: Flask, names: list[str], addresses: list[str], browser: FlaskClient | None = None) -> list[int]:  # noqa: F811
    client = browser or server.test_client()
    return [
        client.post(
            "/login", data={"name": name, "password": "wrong"}, environ_overrides={"REMOTE_ADDR": address}
        ).status_code
        for name, address in zip(names, addresses, strict=True)
    ]


def signs_in(browser: FlaskClient, address: str) -> int:
    """The status of the answer when ada signs in with the right password."""
    form = {"name": "ada", "password": PASSWORD}
    return browser.post("/login", data=form, environ_overrides={"REMOTE_ADDR": address}).status_code


def test_a_name_is_tried_five_times_a_minute_from_an_address(server: Flask) -> None:  # noqa: F811
    assert statuses(server, ["ada"] * 6, ["192.0.2.1"] * 6) == [401] * 5 + [429]
    assert statuses(server, ["bob", "ada"], ["192.0.2.1", "192.0.2.2"]) == [401, 401]


def test_what_an_address_is_refused_does_not_count_against_the_name(server: Flask) -> None:  # noqa: F811
    assert statuses(server, ["ada"] * 25, ["192.0.2.1"] * 25) == [401] * 5 + [429] * 20
    assert signs_in(server.test_client(), "192.0.2.2") == 303


def test_a_name_is_tried_twenty_times_a_minute_from_everywhere(server: Flask) -> None:  # noqa: F811
    addresses = [f"192.0.2.{number}" for number in range(21)]
    assert statuses(server, ["ada"] * 21, addresses) == [401] * 20 + [429]


def test_the_device_of_an_owner_gets_in_whoever_else_tries_the_name(server: Flask) -> None:  # noqa: F811
    own, other = server.test_client(), server.test_client()
    assert signs_in(own, "192.0.2.1") == 303
    statuses(server, ["ada"] * 60, [f"192.0.2.{1 + number % 30}" for number in range(60)])
    assert [signs_in(browser, "192.0.2.1") for browser in (own, other)] == [303, 429]


def test_a_known_device_is_known_for_its_name_and_password_alone(server: Flask, tmp_path: Path) -> None:  # noqa: F811
    own = server.test_client()
    assert signs_in(own, "192.0.2.1") == 303
    assert statuses(server, ["ada"] * 11, ["192.0.2.2"] * 11, own) == [401] * 10 + [429]
    assert statuses(server, ["bob"] * 6, ["192.0.2.3"] * 6, own) == [401] * 5 + [429]
    change_user(tmp_path / "users.json", "ada", password="another password")
    assert statuses(server, ["ada"] * 6, ["192.0.2.4"] * 6, own) == [401] * 5 + [429]


def test_where_the_file_of_counts_cannot_be_written_a_worker_counts_alone(
    server: Flask,  # noqa: F811
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # as on a full disk
    try:
        answers = statuses(server, ["ada"] * 6, ["192.0.2.1"] * 6)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert answers == [401] * 5 + [429]


def test_an_address_tries_sixty_names_a_minute(server: Flask) -> None:  # noqa: F811
    assert statuses(server, [f"u{n}" for n in range(61)], ["2001:db8::1"] * 61) == [401] * 60 + [429]
    assert statuses(server, ["ada", "ada"], ["2001:db8::2", "2001:db8:0:1::2"]) == [429, 401]


def test_too_many_attempts_are_a_sentence_with_the_time_to_wait(
    server: Flask,  # noqa: F811
    clock: Callable[[float], None],  # noqa: F811
) -> None:
    browser = server.test_client()
    clock(0)
    for _ in range(6):
        response = browser.post("/login", data={"name": "ada", "password": "wrong", "next": "/head"})
    assert 60 <= int(response.headers["Retry-After"]) <= 61
    assert f"Too many attempts to sign in. Try again in {response.headers['Retry-After']} s." in response.text
    assert 'value="/head"' in response.text
    clock(61)
    assert browser.post("/login", data={"name": "ada", "password": PASSWORD}).status_code == 303


def test_passwords_of_one_address_let_another_wait_for_one_check_alone() -> None:
    turns, order, begun = password_turns(12), list[str](), Event()

    def check(sender: str) -> None:
        with turns.turn(sender, lambda: False):
            order.append(sender)
            begun.wait()

    def wait_until(condition: Callable[[], bool]) -> None:
        while not condition():
            time.sleep(0.01)

    senders = [Thread(target=check, args=(sender,)) for sender in ["busy"] * 4 + ["other"]]
    for number, thread in enumerate(senders):
        thread.start()
        wait_until(lambda number=number: turns.waiting == number + 1)  # type: ignore[misc]
    with pytest.raises(Refusal, match="from your address"), turns.turn("busy", lambda: False):
        raise AssertionError
    begun.set()
    for thread in senders:
        thread.join()
    assert order == ["busy", "other", "busy", "busy", "busy"]


@pytest.mark.parametrize(
    ("address", "counted"),
    [("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::/64"), ("", "unknown"), ("localhost", "unknown")],
)
def test_all_of_a_network_of_ipv6_is_one_client(address: str, counted: str) -> None:
    with Flask("client").test_request_context(environ_overrides={"REMOTE_ADDR": address}):
        assert client() == counted
