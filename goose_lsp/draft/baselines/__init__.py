"""The rivals: published training-free drafting methods as policies, for comparison on equal terms."""
