"""Evaluate an OpenAI-compatible endpoint as an assistant over documents."""

__version__ = "0.1.0"
