"""Measurements of regretkit, by name.

$ python -m benchmarks
$ python -m benchmarks compare --quick
"""

import ast
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import ONE_THREAD

HERE = Path(__file__).parent
HELPERS = {"machine", "pages", "rule_table", "runs"}


def benchmarks() -> dict[str, str]:
    """Return the first line of what each benchmark says about itself, by its name."""
    modules = {path.stem: path for path in HERE.glob("*.py") if not path.stem.startswith("_")}
    modules |= {path.parent.name: path for path in HERE.glob("*/__init__.py")}
    return {
        name: (ast.get_docstring(ast.parse(modules[name].read_text())) or "").partition("\n")[0]
        for name in sorted(modules.keys() - HELPERS)
    }


def main(arguments: Sequence[str]) -> int:
    known = benchmarks()
    if not arguments or arguments[0] in ("-h", "--help"):
        print("python -m benchmarks NAME [--quick], where NAME is one of\n")
        print("\n".join(f"  {name:<16}{says}" for name, says in known.items()))
        return 0
    name, *rest = arguments
    if name not in known:
        print(f"there is no benchmark {name!r}, only {', '.join(known)}", file=sys.stderr)
        return 2
    os.environ.update(ONE_THREAD)  # before NumPy is imported
    sys.argv = [f"benchmarks.{name}", *rest]
    runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
