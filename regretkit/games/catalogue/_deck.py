"""The cards that games share."""

RANKS = "A23456789TJQK"
"""All ranks of cards, the lowest first; a small deck has the highest of them."""
