"""Games, histories and policies of OpenSpiel.

All functions raise an ImportError unless it is installed: ``pip install 'regretkit[openspiel]'``.
"""
