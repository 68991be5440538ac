"""Benchmarks: ratios from one run, printed as tables with the machine. Run with `make bench`; nothing here is a test."""
