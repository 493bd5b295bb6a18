"""Functions that are compiled: plain Python over the arrays of ``layout``."""
