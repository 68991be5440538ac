"""The client's address by headers, which the server believes from trusted proxies alone."""

from typing import Any

import pytest
from flask import Flask, jsonify, request
from hypothesis import given
from hypothesis import strategies as st

from dashboard import __main__ as command
from dashboard.app import create_app
from dashboard.serving import Serving
from dashboard.web.addresses import PEER, UNIX, AddressList, address_list, follow_proxies
from dashboard.web.security import AllowedHosts
from dashboard.web.served_store import ServedStore

FORGED = {"X-Forwarded-For": "10.9.9.9", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "heads.example.org"}
OTHERS = {"X-Forwarded-Prefix": "/p", "X-Forwarded-Port": "1", "X-Forwarded-User": "root", "Forwarded": "for=10.9.9.9"}


def seen(trusted: AddressList, peer: str, headers: dict[str, str]) -> dict[str, Any]:
    """Facts of a request from this address, as an application sees them."""
    server = Flask(__name__)

    @server.get("/")
    def answer() -> Any:
        sent = sorted(name for name, _ in request.headers if "Forwarded" in name)
        return jsonify(
            client=request.remote_addr, url=request.url, root=request.root_path, peer=request.environ[PEER], sent=sent
        )

    follow_proxies(server, trusted)
    answered = server.test_client().get("/", headers=headers, environ_base={"REMOTE_ADDR": peer}).json
    assert isinstance(answered, dict)
    return answered


@pytest.mark.parametrize("peer", ["10.0.0.1", "10.1.2.3", "::ffff:10.0.0.1", "fd00::1", UNIX])
def test_a_trusted_proxy_says_who_the_client_is(peer: str) -> None:
    answered = seen(
        address_list(["10.0.0.1", " 10.1.0.0/16", "fd00::/8", "unix", ""], flag="--trusted-proxies"), peer, FORGED
    )
    assert (answered["client"], answered["url"]) == ("10.9.9.9", "https://heads.example.org/")
    assert answered["peer"] == peer


@pytest.mark.parametrize(("peer", "trusted"), [("10.0.0.5", True), ("::ffff:10.0.0.5", True), ("11.0.0.5", False)])
def test_a_network_of_ipv4_may_be_written_as_one_of_ipv6(peer: str, trusted: bool) -> None:
    assert (peer in address_list(["::ffff:10.0.0.0/104"], flag="--trusted-proxies")) is trusted


@pytest.mark.parametrize("peer", ["10.0.0.2", "10.2.0.1", "::1", "fe80::1%eth0", UNIX, "", "localhost"])
def test_nobody_else_does(peer: str) -> None:
    answered = seen(
        address_list(["10.0.0.1", "10.1.0.0/16", "fd00::/8"], flag="--trusted-proxies"), peer, FORGED | OTHERS
    )
    assert answered == {"client": peer, "url": "http://localhost/", "root": "", "peer": peer, "sent": []}


def test_the_last_value_counts_since_the_proxy_added_it() -> None:
    several = {"X-Forwarded-For": "1.2.3.4, 10.9.9.9", "X-Forwarded-Host": "evil.example, heads.example.org"}
    answered = seen(address_list(["10.0.0.1"], flag="--trusted-proxies"), "10.0.0.1", several)
    assert (answered["client"], answered["url"]) == ("10.9.9.9", "http://heads.example.org/")


def test_a_prefix_and_a_port_are_nobodys_to_say() -> None:
    answered = seen(address_list(["10.0.0.1"], flag="--trusted-proxies"), "10.0.0.1", FORGED | OTHERS)
    assert (answered["root"], answered["url"]) == ("", "https://heads.example.org/")


@given(st.ip_addresses())
def test_by_default_no_address_is_trusted(address: object) -> None:
    assert str(address) not in AddressList()


@pytest.mark.parametrize("name", ["proxy.example", "10.0.0.1/24", "10.0.0", "*", "unix:/run/x", "10.0.0.1:80"])
def test_what_is_no_address_is_reported_before_serving(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--port", "0", "--trusted-proxies", f"10.0.0.1,{name}"]) == 1
    assert f"--trusted-proxies={name} is not an address." in capsys.readouterr().err


@pytest.mark.parametrize(("peer", "status"), [("10.0.0.1", 400), ("10.0.0.2", 200)])
def test_the_host_that_a_proxy_names_must_be_allowed(peer: str, status: int, tiny_store: str) -> None:
    serving = Serving(allowed=AllowedHosts(), proxies=address_list(["10.0.0.1"], flag="--trusted-proxies"))
    client = create_app(ServedStore(tiny_store), serving).server.test_client()
    sent = {"X-Forwarded-Host": "evil.example"}
    assert client.get("/_healthz", headers=sent, environ_base={"REMOTE_ADDR": peer}).status_code == status
