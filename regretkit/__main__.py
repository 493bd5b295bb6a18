"""``python -m regretkit`` is the command ``regretkit``."""

import sys

from regretkit.cli._main import main

if __name__ == "__main__":
    sys.exit(main())
