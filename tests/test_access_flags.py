"""Flags on access: which flags fit together, and the one sentence on those that do not."""

import argparse
import re
from ipaddress import ip_network
from pathlib import Path

import pytest

from dashboard import __main__ as command
from dashboard.access.settings import SECRET, SECRET_FILE, Access, access_of, add_flags, is_of_this_machine
from tests.access import write_users

OIDC = ["--auth=oidc", "--oidc-discovery=https://id.example.org", "--oidc-client=heads", "--oidc-domains=example.org"]
PROXY = ["--auth=proxy", "--identity-header=X-Forwarded-User", "--identity-from=10.0.0.0/24,::1,unix"]


def access(*flags: str, host: str = "127.0.0.1", secret: str = "hidden", **environment: str) -> Access:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return access_of(
        argparse.Namespace(host=host, **vars(parser.parse_args(flags))),
        environment | ({SECRET: secret} if secret else {}),
    )


def test_by_default_this_machine_alone_is_served_to_anybody() -> None:
    assert access() == Access()
    assert not access().signs_in


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost", "unix:/run/headscape.sock"])
def test_this_machine(host: str) -> None:
    assert is_of_this_machine(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "10.0.0.1", "heads.example.org", "localhost.example.org", "unix.example.org"]
)
def test_the_network_is_served_to_anybody_only_in_words(host: str) -> None:
    with pytest.raises(ValueError, match=r"--auth=none would let anybody in .* add --open-to-anybody"):
        access(host=host)
    assert access("--open-to-anybody", host=host).kind == "none"
    assert access(*OIDC, host=host).kind == "oidc"


def test_users_are_in_the_state_folder() -> None:
    assert access("--auth=password", "--state=/s").users == Path("/s/users.json")
    assert access("--auth=password", "--users=u.json", "--session-hours=0.5") == Access(
        "password", users=Path("u.json"), session_hours=0.5
    )


def test_a_provider_is_named_by_its_address() -> None:
    provider = access(*OIDC, "--authors=Ada@example.org").provider
    assert provider
    assert provider.discovery == "https://id.example.org/.well-known/openid-configuration"
    assert (provider.client, provider.domains, provider.secret) == ("heads", ("example.org",), "hidden")
    assert "hidden" not in repr(access(*OIDC))


def test_authors_are_named_or_all_of_a_domain() -> None:
    settings = access(*OIDC, "--authors=Ada@example.org, @lab.example.org")
    names = ["ada@example.org", "bob@lab.example.org", "bob@example.org", "eve@evil-lab.example.org"]
    assert [settings.person(name).role for name in names] == ["author", "author", "reader", "reader"]


def test_a_proxy_is_named_by_networks() -> None:
    proxy = access(*PROXY).proxy
    assert proxy
    assert proxy.addresses.networks == (ip_network("10.0.0.0/24"), ip_network("::1"))
    assert all(address in proxy.addresses for address in ("10.0.0.7", "::ffff:10.0.0.7", "::1", "unix"))
    assert not any(address in proxy.addresses for address in ("10.0.1.7", "::2", "evil", "localhost", ""))


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--auth=ldap"], "--auth=ldap is not known. Write one of none, password, oidc, proxy."),
        (["--users=u.json"], "--users belongs to --auth=password. Add that, or leave out --users."),
        (["--oidc-client=x"], "--oidc-client belongs to --auth=oidc."),
        (["--auth=password", "--identity-from=::1"], "--identity-from belongs to --auth=proxy."),
        (["--auth=password", "--open-to-anybody"], "--open-to-anybody belongs to --auth=none."),
        (["--auth=password", "--authors=ada"], "--authors belongs to --auth=oidc and --auth=proxy."),
        (["--session-hours=0"], "--session-hours=0 is not possible."),
        (["--session-hours=nan"], "--session-hours=nan is not possible."),
        (["--session-hours=soon"], "--session-hours=soon is not possible."),
        (OIDC[:-1], "--auth=oidc needs --oidc-domains or --oidc-groups."),
        (OIDC[:2], "--auth=oidc needs --oidc-discovery=URL, --oidc-client=ID and the variable"),
        ([*OIDC, "--oidc-discovery=http://id.example.org"], "is not an address with https://."),
        ([*OIDC, "--oidc-discovery=https://"], "is not an address with https://."),
        ([*OIDC, "--oidc-domains=@example.org"], "--oidc-domains=@example.org is no domain."),
        (PROXY[:-1], "--auth=proxy needs --identity-header=NAME and --identity-from=ADDRESS,..."),
        ([*PROXY, "--identity-header=Cookie"], "--identity-header=Cookie cannot name a person."),
        ([*PROXY, "--identity-header=a b"], "--identity-header=a b cannot name a person."),
        (
            [*PROXY, "--identity-from=10.0.0.1/24"],
            "Write addresses such as 10.0.0.1, networks such as 10.0.0.0/24, or unix, separated by commas.",
        ),
    ],
)
def test_flags_that_do_not_fit_are_one_sentence(flags: list[str], complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)) as error:
        access(*flags)
    assert "\n" not in str(error.value)


def test_the_secret_is_read_from_the_environment_alone() -> None:
    with pytest.raises(ValueError, match=f"the variable {SECRET}"):
        access(*OIDC, secret="")


def test_the_secret_of_a_provider_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("from a file\n")
    provider = access(*OIDC, secret="", **{SECRET_FILE: str(file)}).provider
    assert provider
    assert provider.secret == "from a file"


def test_a_secret_that_cannot_be_read_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{SECRET_FILE}={tmp_path}/none cannot be read"):
        access(*OIDC, **{SECRET_FILE: f"{tmp_path}/none"})


def test_a_server_without_users_does_not_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--port=0", "--auth=password", f"--state={tmp_path}"]
    assert command.main(flags) == 1
    write_users(tmp_path / "users.json")
    assert command.main(flags) == 1
    missing, none = capsys.readouterr().err.splitlines()
    assert missing.startswith(f"dashboard: {tmp_path}/users.json cannot be read: No such file")
    assert none == f"dashboard: {tmp_path}/users.json has no user. Add one with `headscape users add NAME`."


def test_a_server_for_the_network_does_not_start_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--port=0", "--host=0.0.0.0"]) == 1
    assert capsys.readouterr().err.startswith("dashboard: --auth=none would let anybody in who reaches 0.0.0.0.")


def test_a_key_that_others_can_read_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_users(tmp_path / "users.json", ada="author")
    (tmp_path / "key").write_text("0" * 64)
    (tmp_path / "key").chmod(0o644)
    assert command.main(["--port=0", "--auth=password", f"--state={tmp_path}"]) == 1
    assert "Others can read" in capsys.readouterr().err
