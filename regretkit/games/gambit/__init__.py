"""Games in Gambit's two file formats, and games of pygambit."""
