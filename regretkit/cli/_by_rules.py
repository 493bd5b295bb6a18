"""``solve --sample`` of games whose trees do not fit: play by their rules alone."""

import sys
import time

from regretkit.cli._algorithms import Choice
from regretkit.cli._arguments import NamedRules, Settings
from regretkit.cli._console import DONE, Refusal, answer, is_terminal, reporting
from regretkit.cli._interrupt import StopRequest
from regretkit.cli._report import write_strategy
from regretkit.display._style import number
from regretkit.play import solve


def solve_by_rules(game: NamedRules, choice: Choice, settings: Settings) -> int:
    """Play without a tree, report what was played, and return the exit code."""
    if choice.algorithm.sampling is None:
        raise Refusal(f"{game.refusal}; or pass --sample external, which plays without the tree")
    for name in ("gap", "checkpoint", "plot", "imperfect_recall"):
        if getattr(settings, name):
            option = "--" + name.replace("_", "-")
            raise Refusal(f"{option}: the game's tree is needed, which does not fit; leave it out")
    if choice.algorithm.sampling == "chance":
        raise Refusal("--sample: must be external or outcome without a tree, got chance")
    begun = time.perf_counter()
    with StopRequest() as request, reporting(choice.argument):
        run = solve(
            game.rules,
            choice.algorithm,
            iterations=settings.iterations,
            time_limit=settings.seconds,
            seed=settings.seed or 0,
            callbacks=[lambda _: request.requested()],
            progress=is_terminal(sys.stderr) and not settings.quiet,
        )
    seconds = time.perf_counter() - begun
    write_strategy(run.average, settings.out)
    report = {
        "game": game.text,
        "algorithm": choice.name,
        "rule": choice.rule,
        "sample": choice.algorithm.sampling,
        "iterations": run.iteration,
        "seconds": seconds,
        "information_sets": list(run.information_sets),
        "strategy": settings.out and str(settings.out),
    }
    rate = number(run.iteration / max(seconds, 1e-9))
    met = " + ".join(f"{count:,}" for count in run.information_sets)
    lines = [
        f"game        {game.text}, without its tree: no gap is known",
        f"algorithm   {choice.label}, {choice.algorithm.sampling} sampling",
        f"iterations  {run.iteration:,} in {seconds:.3g} s, {rate} a second",
        f"met         {met} information sets",
        f"strategy    {settings.out or '--out FILE writes it, as .json or .csv'}",
    ]
    answer(report, lines, as_json=settings.as_json)
    return request.code or DONE
