"""Headscape's dashboard: reads the store and shows it. Imports ingest, and torch with it, only once a sentence is typed."""
