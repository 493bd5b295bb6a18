"""Exact answers: linear programs, supports of runs, and certificates in fractions."""
