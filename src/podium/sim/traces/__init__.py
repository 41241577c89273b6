"""Traces of real clusters: one reader for each format, all with the same complaints about bad files."""
