"""Monitoring of a server: health, metrics, the access log, and the last hour."""
