"""Several kernels as one, which looks up at each block whose turn it is."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from regretkit.trace._build import SIGNATURES
from regretkit.trace._kernel import BlockFunction, Kernel


class KernelSet(NamedTuple):
    """The kernels of a run's rules as one."""

    propose: BlockFunction
    learn: BlockFunction
    by_action: tuple[bool, ...]
    """For each array of ``state``, whether it has a number for each action, or block."""
    begin: tuple[int, ...]
    """Which array is the first of each kernel's."""
    code: tuple[int, ...]
    """The number of each kernel's functions; kernels may share them."""

    @property
    def dispatches(self) -> bool:
        """Whether the last two arrays say whose block it is, and where its parameters begin."""
        return len(self.by_action) > 0 and self.propose.__name__ == "propose_any"


def combine(kernels: Sequence[Kernel], alone: bool) -> KernelSet:
    """Return kernels as one; ``alone`` where no player has several."""
    codes: dict[tuple[object, ...], int] = {}
    begins: list[int] = []
    by_action: list[bool] = []
    signature: list[tuple[BlockFunction, BlockFunction, int, int]] = []
    for kernel in kernels:
        key = kernel.propose, kernel.learn, len(kernel.state), kernel.layout
        if key not in codes:
            codes[key] = len(codes)
            begins.append(len(by_action))
            by_action += kernel.layout
            signature.append((kernel.propose, kernel.learn, begins[-1], len(by_action)))
    numbers = [codes[k.propose, k.learn, len(k.state), k.layout] for k in kernels]
    begin = tuple(begins[number] for number in numbers)
    if alone and len(codes) == 1:
        first = kernels[0]
        return KernelSet(first.propose, first.learn, tuple(by_action), begin, tuple(numbers))
    propose, learn = _dispatching(tuple(signature), len(by_action))
    return KernelSet(propose, learn, (*by_action, False, False), begin, tuple(numbers))


@cache
def _dispatching(
    signature: tuple[tuple[BlockFunction, BlockFunction, int, int], ...], arrays: int
) -> tuple[BlockFunction, BlockFunction]:
    namespace: dict[str, BlockFunction] = {}
    lines = []
    for kind, arguments in SIGNATURES.items():
        lines += [
            f"def {kind}_any({arguments}):",
            f"    given = parameters[int(state[{arrays + 1}][block]) :]",
        ]
        for number, (propose, learn, begin, end) in enumerate(signature):
            namespace[f"{kind}_{number}"] = propose if kind == "propose" else learn
            own = "".join(f"state[{k}], " for k in range(begin, end))
            passed = arguments.replace("state, parameters", f"({own}), given")
            lines += [
                f"    if state[{arrays}][block] == {number}.0:",
                f"        {kind}_{number}({passed})",
            ]
    exec(compile("\n".join(lines), "<kernels of a run>", "exec"), namespace)
    for kind in SIGNATURES:
        namespace[f"{kind}_any"].__module__ = __name__
    return namespace["propose_any"], namespace["learn_any"]
