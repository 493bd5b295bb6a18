"""``regretkit trace``: what a rule is compiled to."""

import click

from regretkit.circuits import Product
from regretkit.circuits._base import local_minimizer
from regretkit.cli import _arguments as arguments
from regretkit.cli._algorithms import Choice
from regretkit.cli._arguments import option
from regretkit.cli._console import IN_FULL, Failure, Refusal, answer
from regretkit.minimizer import RegretMinimizer
from regretkit.sets import Simplices
from regretkit.trace import UntraceableError, describe_kernel
from regretkit.workbench._expressions import rule_error


@click.command("trace", short_help="Show what a rule is compiled to.")
@click.argument("name", metavar="NAME")
@option("--exact", "Show the code of the engine compiled-exact.", is_flag=True)
@arguments.as_json
def show_trace(name: str, exact: bool, as_json: bool) -> int:
    """Show what the rule NAME is compiled to: its graph, and the loops that are made of it.

    NAME is an algorithm, such as cfr+, or module:Class, with hyperparameters if needed, as in
    'my_rules:MyRule(power=2)'; modules are looked for in this folder too.
    """
    rule = _built(name)
    if isinstance(rule, Product):
        raise Failure(f"NAME: {name} cannot be traced: it plays several rules; name one of them")
    try:
        text = describe_kernel(rule, exact=exact)
    except UntraceableError as error:
        raise Failure(f"NAME: {name} cannot be traced: {error}") from error
    return answer({"name": name, "exact": exact, "text": text}, text.splitlines(), as_json=as_json)


def _built(name: str) -> RegretMinimizer:
    choice = Choice.of(name, None, argument="NAME")
    local = choice.algorithm.local
    if isinstance(local, tuple):
        raise Refusal(f"NAME: must be one rule, got {name}; name one of them")
    try:
        return local_minimizer(local, Simplices([2, 3]))
    except (Exception, SystemExit) as error:
        if choice.rule is None:
            raise
        raise Failure(f"NAME: {rule_error(error, choice.rule)}{IN_FULL}") from error
