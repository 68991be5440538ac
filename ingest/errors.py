"""What a person can get wrong when asking for an ingest; every message ends with what to do next."""


class IngestError(Exception):
    """The ingest cannot be done as asked."""
