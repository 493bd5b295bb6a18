"""Conversion from and to OpenSpiel and pygambit."""
