"""Drafting: trees, sources and acceptance. Knows token ids and numpy, never torch or text."""
