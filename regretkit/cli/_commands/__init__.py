"""The commands, one a module, in the order in which they are listed."""

from regretkit.cli._commands._compare import compare
from regretkit.cli._commands._convert import convert
from regretkit.cli._commands._evaluate import evaluate
from regretkit.cli._commands._exact import exact
from regretkit.cli._commands._games import list_games
from regretkit.cli._commands._play import play
from regretkit.cli._commands._resume import resume
from regretkit.cli._commands._show import show_game
from regretkit.cli._commands._solve import solve

COMMANDS = [list_games, show_game, solve, resume, evaluate, play, exact, convert, compare]
