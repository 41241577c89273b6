"""Benchmarks.  Each measures one promise, prints a table, and leaves JSON and a picture under bench/results/."""
