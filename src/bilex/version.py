"""The version of bilex, in one place."""

__version__ = "0.2.0"
