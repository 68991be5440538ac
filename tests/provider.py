"""An OpenID provider on this machine: discovery, authorization, tokens, keys. A test changes its answers."""

import base64
import hashlib
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from flask import Flask, Response, jsonify, request
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.browser import listening

CLIENT, SECRET = "headscape-test", "a-secret-of-the-client"
KEY, FOREIGN_KEY = (RSAKey.generate_key(2048, {"kid": "1"}) for _ in range(2))

SIGNATURES = {"id_token_signing_alg_values_supported": ["none", "HS256", "RS256"]}
#: The header of a token without a signature.
UNSIGNED = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")


@dataclass
class FakeProvider:
    """A provider's claims about the person who signs in, and which of its answers are wrong."""

    claims: dict[str, Any] = field(
        default_factory=lambda: {"sub": "1", "email": "Ada@Example.org", "email_verified": True, "groups": ["readers"]}
    )
    wrong: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    key: RSAKey = field(default_factory=lambda: KEY)
    address: str = ""
    status: int = 200
    signed: bool = True
    #: Queries of the browsers that asked to sign in, by the code that each got.
    sent: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: list[dict[str, str]] = field(default_factory=list)

    def begin_anew(self) -> None:
        """Forget everything but the address."""
        self.__init__(address=self.address)  # type: ignore[misc]

    @property
    def discovery(self) -> str:
        return f"{self.address}/.well-known/openid-configuration"

    def authorize(self, link: str) -> str:
        """The redirect of a browser that was sent here, with a code: the person has agreed."""
        query = {name: value for name, (value,) in parse_qs(urlsplit(link).query).items()}
        code = f"code-{len(self.sent)}"
        self.sent[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def id_token(self, query: dict[str, str]) -> str:
        now = int(time.time())
        standard = {"iss": self.address, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": query["nonce"]}
        token = jwt.encode({"alg": "RS256", "kid": "1"}, standard | self.claims | self.wrong, self.key)
        return token if self.signed else f"{UNSIGNED}.{token.split('.')[1]}."


def _token(provider: FakeProvider) -> Response:
    form = request.form.to_dict()
    provider.tokens.append(form | {"authorization": request.headers.get("Authorization", "")})
    query = provider.sent.pop(form["code"])  # a code is valid once
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    assert query["code_challenge_method"] == "S256"
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == query["code_challenge"]
    return jsonify(access_token="access", token_type="Bearer", id_token=provider.id_token(query))


def _application(provider: FakeProvider) -> Flask:
    server = Flask("provider")

    @server.get("/.well-known/openid-configuration")
    def discovery() -> Response:
        places = {f"{name}_endpoint": f"{provider.address}/{name}" for name in ("authorization", "token", "userinfo")}
        answer = jsonify(issuer=provider.address, jwks_uri=f"{provider.address}/keys", **places, **SIGNATURES)
        answer.status_code = provider.status
        return answer

    server.add_url_rule("/token", "token", lambda: _token(provider), methods=["POST"])
    server.add_url_rule("/userinfo", "userinfo", lambda: jsonify(provider.userinfo))
    server.add_url_rule("/keys", "keys", lambda: jsonify(keys=[KEY.as_dict(private=False)]))
    return server


@contextmanager
def running_provider() -> Iterator[FakeProvider]:
    """A provider that answers for as long as the context lasts."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # keeps the provider's requests out of the log
    provider = FakeProvider()
    with listening(_application(provider)) as address:
        provider.address = address
        yield provider
