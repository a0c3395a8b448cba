"""Benchmarks: every row beside its rival, measured in turns in one run. `python -m bench` prints the table."""
