"""Helpers that every layer may use: types, validation, state, files, sums."""
