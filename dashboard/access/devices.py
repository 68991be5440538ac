"""Devices on which somebody has signed in: a cookie says so for one name, and lets nobody in.

Whoever guesses passwords for a name can use up the attempts that all addresses have for it. An owner's device has attempts
of its own (OWASP, "Device Cookies"). It is known until its cookie ends, or the name has another password.
"""

import hashlib
import secrets

from flask import current_app, request
from itsdangerous import BadSignature, Signer
from werkzeug.wrappers import Response

from dashboard.access.gate import SIGN_IN
from dashboard.access.users import User

#: Seconds for which a browser keeps the cookie.
LASTS = 365 * 86_400
#: What is put after the name of the cookie of a session.
SUFFIX = "-device"


def known_device(name: str, user: User | None) -> str | None:
    """The id of the device of a request, where this person has signed in on it; else None."""
    cookie = request.cookies.get(_cookie_name())
    if user is None or not cookie:
        return None
    try:
        return _signer(name, user).unsign(cookie).decode()
    except BadSignature:
        return None


def remember_device(response: Response, name: str, user: User) -> None:
    """Let a device be known from now on. Its cookie is sent to the page to sign in alone, and does not hold the name."""
    identity = known_device(name, user) or secrets.token_urlsafe(16)
    response.set_cookie(
        _cookie_name(),
        _signer(name, user).sign(identity).decode(),
        max_age=LASTS,
        path=f"{request.script_root}{SIGN_IN}",
        secure=request.is_secure,
        httponly=True,
        samesite="Lax",
    )


def _cookie_name() -> str:
    return f"{current_app.config['SESSION_COOKIE_NAME']}{SUFFIX}"


def _signer(name: str, user: User) -> Signer:
    key = current_app.secret_key
    assert key is not None
    return Signer(key, salt=f"device\n{name}\n{user.stamp}", digest_method=hashlib.sha256)
