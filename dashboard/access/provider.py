"""Access by an OpenID provider: authorization code with PKCE, state and nonce, by Authlib."""

import logging
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.flask_client import OAuth
from flask import Flask, Response, redirect, request, session, url_for
from joserfc.errors import JoseError
from requests import RequestException
from werkzeug.wrappers import Response as AnyResponse

from dashboard.access import sign_in
from dashboard.access.account import tokens_of
from dashboard.access.person import LONGEST_NAME, Person, is_name
from dashboard.access.private_file import AccessFileError
from dashboard.access.settings import Access, Provider
from dashboard.access.sign_in import SIGN_IN, Attempts, TooMany, local_link
from dashboard.access.users import Sessions
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore

#: Seconds by which the provider's clock may differ.
LEEWAY = 60
#: Algorithms of signatures that only the provider can make: not "none", and none with a shared secret.
SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
DOWN = "The provider by which people sign in does not answer as it should. Try again in a minute."
UNCONFIRMED = "The provider did not confirm who you are. Sign in again."
UNVERIFIED = "The provider has not verified your e-mail address. Verify it there, then sign in again."
STRANGER = "Your account may not come in here. Ask whoever runs this server, or sign in with another account."
UNNAMED = f"Your e-mail address has more than {LONGEST_NAME} characters, or hidden ones. Sign in with another account."

log = logging.getLogger("headscape.access")
View = Callable[[], AnyResponse]


class ByProvider:
    """People whom an OpenID provider vouches for, each with a session, and tokens where they make some."""

    def __init__(self, access: Access) -> None:
        assert access.provider
        self._access, self._provider = access, access.provider
        self._sessions, self._tokens = Sessions(access), tokens_of(access)
        self._host = urlsplit(self._provider.discovery).hostname or "the provider"

    def register(self, server: Flask, served_store: ServedStore) -> None:
        """Add the page to sign in, the way to the provider and the way back."""
        logging.getLogger("authlib").setLevel(logging.INFO)  # below, it logs the verifiers of codes
        sign_in.register(server, self._sessions, self._tokens, self._host)
        self._client = _client(server, self._provider)
        self._attempts = Attempts(served_store.folder)
        for name, view in (("provider", self._go), ("callback", self._return)):
            server.add_url_rule(f"{SIGN_IN}/{name}", name, self._limited(name, _answered(view)), methods=["GET"])

    @property
    def person(self) -> Person | None:
        """The person of the session or token, with the role that the settings give; None without either."""
        signed_in = self._sessions.current or self._tokens.current
        return self._access.person(signed_in.name) if signed_in else None

    def _go(self) -> AnyResponse:
        self._sessions.forget_attempt()
        session["link"] = local_link(request.args.get("next", ""))
        _load(self._client, self._provider)
        answer: AnyResponse = self._client.authorize_redirect(url_for("callback", _external=True))
        return answer

    def _return(self) -> AnyResponse:
        link = local_link(str(session.get("link", "")))
        try:
            claims = self._claims()
        except (AuthlibBaseError, JoseError, ValueError, KeyError, TypeError) as error:
            log.warning("Refused a sign-in from %s: %s", sign_in.client(), type(error).__name__)
            return self._refuse(link, UNCONFIRMED, 401)
        if claims.get("email_verified") is not True:
            return self._refuse(link, UNVERIFIED, 403)
        name = str(claims.get("email", "")).lower()
        if not admits(self._provider, claims):
            if is_of_domains(self._provider, name):  # no longer in an admitted group: all sessions end
                self._sessions.end_all(name)
            return self._refuse(link, STRANGER, 403)
        if not is_name(name):
            return self._refuse(link, UNNAMED, 403)
        self._sessions.begin(name)
        return redirect(link, 303)

    def _claims(self) -> Mapping[str, Any]:
        """The provider's claims about a person, after a check of its signature and everything else."""
        if "error" not in request.args and not request.args.get("code"):
            raise ValueError("there is no code")
        metadata = _load(self._client, self._provider)
        options = {
            "iss": {"essential": True, "value": metadata["issuer"]},
            "aud": {"essential": True, "value": self._provider.client},  # Authlib itself leaves this to azp
        }
        token = self._client.authorize_access_token(claims_options=options, leeway=LEEWAY)
        claims: dict[str, Any] = dict(token["userinfo"])
        if "email" not in claims and metadata.get("userinfo_endpoint"):
            more = self._client.userinfo(token=token)
            claims |= more if more["sub"] == claims["sub"] else {}
        return claims

    def _limited(self, name: str, view: View) -> View:
        """The view, limited to as many requests as an address may send."""

        def answer() -> AnyResponse:
            try:
                self._attempts.count((sign_in.ADDRESS, f"{name} {sign_in.client()}"))
            except TooMany as error:
                link = local_link(str(session.get("link", "")))
                return error.headers(sign_in.sign_in_page(link, str(error), 429, provider=self._host))
            return view()

        return answer

    def _refuse(self, link: str, problem: str, status: int) -> Response:
        self._sessions.forget_attempt()
        return sign_in.sign_in_page(link, problem, status, provider=self._host)


def admits(provider: Provider, claims: Mapping[str, Any]) -> bool:
    """Whether a person with a verified e-mail address belongs to an admitted domain and to an admitted group."""
    groups = claims.get("groups", [])
    names = [group for group in groups if isinstance(group, str)] if isinstance(groups, list) else []
    is_of_group = not provider.groups or not set(provider.groups).isdisjoint(names)
    return is_of_domains(provider, str(claims.get("email", "")).lower()) and is_of_group


def is_of_domains(provider: Provider, address: str) -> bool:
    """Whether an e-mail address in small letters belongs to an admitted domain."""
    name, _, domain = address.rpartition("@")
    is_of_domain = not provider.domains or "*" in provider.domains or domain in provider.domains
    return bool(name and domain) and is_of_domain


def _client(server: Flask, provider: Provider) -> Any:
    return OAuth(server).register(
        "provider",
        client_id=provider.client,
        client_secret=provider.secret,
        server_metadata_url=provider.discovery,
        client_kwargs={
            "scope": "openid email profile",
            "code_challenge_method": "S256",
            "default_timeout": provider.seconds,
        },
    )


def _load(client: Any, provider: Provider) -> Mapping[str, Any]:
    """The provider's metadata, which is fetched once; adjusts the client to it."""
    metadata: dict[str, Any] = client.load_server_metadata()
    if not all(isinstance(metadata.get(name), str) for name in ("issuer", "authorization_endpoint", "token_endpoint")):
        metadata.pop("_loaded_at", None)  # ask again the next time
        raise RequestException("no OpenID provider")
    signatures = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
    metadata["id_token_signing_alg_values_supported"] = [name for name in signatures if name in SIGNATURES]
    if "client_secret_basic" not in metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]):
        client.client_kwargs["token_endpoint_auth_method"] = "client_secret_post"
    if provider.groups and "groups" in metadata.get("scopes_supported", []):  # some providers refuse unknown scopes
        client.client_kwargs["scope"] = "openid email profile groups"
    return metadata


def _answered(view: View) -> View:
    """The view; raises Refusal (503) where the provider is down or a file is damaged."""

    @wraps(view)
    def answer() -> AnyResponse:
        try:
            return view()
        except (RequestException, RuntimeError) as error:  # Authlib's RuntimeError: an address is missing
            log.warning("The provider does not answer: %s", type(error).__name__)
            raise Refusal(DOWN, 503) from error
        except AccessFileError as error:
            raise Refusal(str(error), 503) from error

    return answer
