"""Compiled functions: plain Python over the arrays of ``_layout``."""
