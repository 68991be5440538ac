"""Headers of every response: scripts only from this server, no framing, no sniffing."""

from dash import Dash
from flask import Response


def register(app: Dash) -> None:
    """Add the headers. Call it last: Dash's inline scripts are allowed by their hash, once they are all there."""
    policy = "; ".join(
        [
            "default-src 'self'",
            "script-src 'self' " + " ".join(app.csp_hashes()),
            "style-src 'self' 'unsafe-inline'",  # Mantine and plotly add style elements
            "img-src 'self' data: blob:",
            "connect-src 'self'",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    )

    def add_headers(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        return response

    app.server.after_request(add_headers)
