"""The command line: what the library does, from a shell. It adds words, and no meaning.

``regretkit.cli.entry.main`` is the command; nothing in the library imports this package.
"""
