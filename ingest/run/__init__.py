"""Modules that every stage of a run shares: its settings and checkpoint, its errors and progress, its processes."""
