"""Access to the server: who may come in, and who sends a request."""
