"""Private code completion from a local model, made fast by anisotropic speculation trees."""

__version__ = "0.1.0"
