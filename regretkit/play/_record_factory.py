"""Creation of information sets, with what a rule that has earned nothing there would play."""

import pickle
from collections.abc import Hashable, Sequence
from typing import TypeAlias, final

import numpy as np

from regretkit._util._state import generators
from regretkit.circuits._cfr import LocalRule, local_minimizer
from regretkit.minimizer import RegretMinimizer
from regretkit.minimizers import SimplexRule
from regretkit.play._infoset_records import (
    OfKernel,
    OfMinimizer,
    Point,
    Saved,
    Shared,
    as_discounts,
    check_entries,
)
from regretkit.sets import Simplices

Template: TypeAlias = OfKernel | OfMinimizer


@final
class Maker:
    """Makes one player's information sets.

    For each number of actions there is a template, an information set that no sample visits. Each
    new one is a copy, so that it has learned zero utilities in all earlier iterations, as the rule
    has on the game's tree.
    """

    def __init__(self, local: LocalRule, player: int, generator: np.random.Generator) -> None:
        self._local, self._player, self._generator = local, player, generator
        self._templates: dict[int, Template] = {}
        self._initial: dict[int, list[float]] = {}
        """What templates play, which must not change."""
        self._changing: list[Shared] = []
        """Those whose kernel's numbers are not always the same."""
        self.iteration = 0
        """Number of iterations in which the player has learned."""
        self._saved: Saved = {}
        """Templates from a file that were not made yet."""

    def make(
        self, key: Hashable, actions: Sequence[Hashable], before: Point | None, via: int
    ) -> Point:
        """Return a new information set."""
        size = len(actions)
        if size not in self._templates:
            self._templates[size] = self._template(size)
        return self._templates[size].copy(key, self._player, actions, before, via)

    def saved(self) -> Saved:
        """Return the templates by number of actions, and how often the player has learned."""
        return {
            "iteration": self.iteration,
            "templates": {str(n): _saved(template) for n, template in self._templates.items()},
        }

    def restore(self, saved: Saved, most: int) -> None:
        """Take what :meth:`saved` returned from a file, of at most this many iterations.

        Templates are made when information sets of their size are, in a time that does not depend
        on what the file says of iterations.
        """
        check_entries(saved, {"iteration", "templates"})
        iteration, templates = saved["iteration"], saved["templates"]
        if type(iteration) is not int or not 0 <= iteration <= most:
            raise ValueError(f"a player must have learned in 0 to {most} iterations")
        if not isinstance(templates, dict):
            raise ValueError("templates must be a dict")
        self.iteration, self._saved = iteration, templates

    def has(self, size: int) -> bool:
        """Say whether there is a template of that many actions, or there was one in the file."""
        return size in self._templates or str(size) in self._saved

    def advance(self) -> None:
        """End an iteration in which the player learned."""
        for template in self._templates.values():
            self._learn_nothing(template)
        self.iteration += 1
        for shared in self._changing:
            shared.advance(self.iteration + 1)

    @property
    def is_lazy(self) -> bool:
        """Whether all information sets only need to learn when they are visited."""
        return all(template.is_lazy for template in self._templates.values())

    @property
    def kernels(self) -> list[bool]:
        """For each number of actions met, whether the rule has a kernel."""
        return [isinstance(template, OfKernel) for template in self._templates.values()]

    def _template(self, size: int) -> Template:
        template: Template
        made = self._minimizer(size)
        kernel = made._kernel() if isinstance(made, SimplexRule) else None
        place = (None, self._player, range(size), None, 0)
        if kernel is None or not isinstance(made, SimplexRule):
            shared, template = None, OfMinimizer(made, *place)
        else:
            shared = Shared(made, kernel)
            template = OfKernel(shared, *place)
            if callable(kernel.parameters) or kernel.traits.only_discounts_on_zero_utility:
                self._changing.append(shared)
            shared.advance(1)
        self._initial[size] = list(template.strategy)
        if str(size) in self._saved:
            self._restore(template, self._saved.pop(str(size)))
            return template
        idle = template.is_lazy and shared not in self._changing
        for t in range(1, 1 if idle else self.iteration + 1):
            self._learn_nothing(template)
            if shared in self._changing:
                shared.advance(t + 1)
        return template

    def _restore(self, template: Template, saved: Saved) -> None:
        check_entries(saved, {"learned", "before", "after"})
        template.restore(saved["learned"])
        self._check_initial(template)
        if isinstance(template, OfKernel):
            shared = template._shared
            shared.numbers = shared.kernel.parameters_at(self.iteration + 1)
            shared.before = as_discounts(saved["before"])
            shared.after = as_discounts(saved["after"])

    def _learn_nothing(self, template: Template) -> None:
        if template.is_lazy:
            return
        template.learn_nothing()
        self._check_initial(template)

    def _check_initial(self, template: Template) -> None:
        initial = self._initial[len(template.actions)]
        if not np.allclose(template.strategy, initial, rtol=0.0, atol=1e-12):
            raise ValueError(
                "rule must not change what it plays before it has learned a utility other than 0, "
                f"but with {len(initial)} actions it plays {template.strategy} after "
                f"{initial}; play on the game's tree with SelfPlay"
            )

    def _minimizer(self, size: int) -> RegretMinimizer:
        state = self._generator.bit_generator.state
        before = pickle.dumps(state)
        made = local_minimizer(self._local, Simplices(size), "rule")
        if pickle.dumps(self._generator.bit_generator.state) != before or any(generators(made)):
            self._generator.bit_generator.state = state
            raise ValueError(
                f"rule draws random numbers for {size} actions: on the game's tree it would draw "
                "them before the first sample, or for all decision points at once; draw them "
                "before, or play on the tree with SelfPlay"
            )
        return made


def _saved(template: Template) -> Saved:
    shared = template._shared if isinstance(template, OfKernel) else None
    before, after = ([], []) if shared is None else (list(shared.before), list(shared.after))
    return {"learned": template.saved(), "before": before, "after": after}
