"""Notes and saved views: what they are about, the database that holds them, how they are written, searched and exchanged."""
