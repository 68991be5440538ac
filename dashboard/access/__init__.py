"""Who may come in, and who sends a request."""
