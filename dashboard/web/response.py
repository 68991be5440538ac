"""How bytes leave the server: to be kept for ever, and compressed where that pays."""

import gzip

from flask import Response, request

FOREVER = "private, max-age=31536000, immutable"


def lasting(response: Response) -> Response:
    """A response that a browser never asks for again."""
    response.headers["Cache-Control"] = FOREVER
    return response


def binary(content: bytes) -> Response:
    """Bytes as they are: quantised places hardly compress."""
    return lasting(Response(content, mimetype="application/octet-stream"))


def codes(content: bytes) -> Response:
    """Bytes that compress well. Flask-Compress leaves application/octet-stream alone, so it is done here."""
    response = binary(content)
    response.headers["Vary"] = "Accept-Encoding"
    if request.accept_encodings.quality("gzip") and len(content) > 1_000:
        response.data = gzip.compress(content, 1)
        response.headers["Content-Encoding"] = "gzip"
    return response


def png(content: bytes) -> Response:
    """A picture."""
    return lasting(Response(content, mimetype="image/png"))
