"""The command line of the library; nothing in the library imports this package."""
