"""What the server says of itself: health, metrics, the access log, and the last hour."""
