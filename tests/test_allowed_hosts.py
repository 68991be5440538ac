"""Host names that the server answers to."""

import pytest
from flask.testing import FlaskClient

from dashboard import __main__ as command
from dashboard.web.security import allowed_hosts


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8050", "LOCALHOST", "127.0.0.1:8050", "[::1]:8050", "[::1]", "a.localhost"]
)
def test_this_machine_is_always_allowed(host: str) -> None:
    assert host in allowed_hosts("127.0.0.1", [])
    assert host in allowed_hosts("0.0.0.0", [])
    assert host in allowed_hosts("192.168.1.5", [])


STRANGERS = """
evil.example evil.example:8050 localhost.evil.example notlocalhost 10.0.0.1 [2001:db8::1]:8050 127.0.0.1.evil.example
localhost:0 localhost@evil.example localhost,evil.example [::1
"""


@pytest.mark.parametrize("host", [*STRANGERS.split(), ""])
def test_another_host_is_refused(host: str) -> None:
    assert host not in allowed_hosts("127.0.0.1", [])


def test_the_address_listened_on_is_allowed() -> None:
    assert "192.168.1.5:8050" in allowed_hosts("192.168.1.5", [])
    assert "[2001:db8::1]:8050" in allowed_hosts("2001:db8:0::1", [])
    assert "heads:8050" in allowed_hosts("heads", [])


@pytest.mark.parametrize("bound", ["0.0.0.0", "::", ""])
def test_on_every_address_any_address_and_the_own_name_are_allowed(bound: str) -> None:
    allowed = allowed_hosts(bound, [], "Heads")
    assert all(host in allowed for host in ("10.0.0.1:8050", "[2001:db8::1]:8050", "heads:8050", "heads.local"))
    assert "evil.example" not in allowed


def test_more_names_can_be_allowed() -> None:
    allowed = allowed_hosts("127.0.0.1", ["heads.example.org", " .lab.example.org", "10.0.0.1"])
    assert all(host in allowed for host in ("heads.example.org", "a.lab.example.org:80", "10.0.0.1"))
    assert "other.example.org" not in allowed


def test_on_a_unix_socket_every_name_can_be_allowed() -> None:
    assert all(host in allowed_hosts("unix:/run/x", ["*"]) for host in ("hub.example.org", "10.0.0.1:80", "[::1]:8050"))
    assert "hub.example.org/x" not in allowed_hosts("unix:/run/x", ["*"])
    assert "hub.example.org" not in allowed_hosts("unix:/run/x", ["heads.example.org"])


@pytest.mark.parametrize("name", ["http://heads", "heads:8050", "*", "a b", "a..b", "a" * 64])
def test_an_invalid_host_name_is_reported_before_serving(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--port", "0", "--allowed-hosts", name]) == 1
    assert f"--allowed-hosts={name} is not a host name." in capsys.readouterr().err


@pytest.mark.parametrize("path", ["/", "/_healthz", "/data/1/a/b/tokens.json", "/_dash-layout", "/assets/head.css"])
def test_a_strangers_name_reads_nothing(path: str, client: FlaskClient) -> None:
    response = client.get(path, headers={"Host": "evil.example"})
    assert (response.status_code, response.mimetype) == (400, "text/plain")
    assert "'evil.example'" in response.text
    assert "--allowed-hosts=" in response.text


def test_a_request_without_a_host_is_answered(client: FlaskClient) -> None:
    """Old probes of load balancers send no host name; every browser sends one."""
    assert client.get("/_healthz", environ_overrides={"HTTP_HOST": None}).status_code == 200


def test_allowed_hosts_are_shown_by_name() -> None:
    assert str(allowed_hosts("0.0.0.0", ["a.org"], "heads")) == "localhost, heads, heads.local, a.org"
