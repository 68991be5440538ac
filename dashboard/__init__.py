"""Headscape's dashboard: reads the store and shows it. Imports neither ingest nor torch."""
