"""Games of other libraries: OpenSpiel and pygambit."""
