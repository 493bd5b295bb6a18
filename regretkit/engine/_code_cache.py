"""Machine code on disk, in files that are checked before they are used.

Numba's own cache trusts its files: a truncated one makes every later compilation fail until it is
deleted by hand, and a damaged one may run as other code. Here each file begins with a digest of
all that follows and of what it is for; a file that does not agree with it is deleted, and the code
compiled again.
"""

import contextlib
import hashlib
import pickle
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any, final

import llvmlite
import numba
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from regretkit._util._files import replace_file

_DIGEST = hashlib.sha256().digest_size


@final
class CodeCache(FunctionCache):
    """Keeps machine code of one function, a file for each signature; files that fail never raise.

    The function's qualified name must determine what it does, as it does not for Numba's cache.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, None where it has to be compiled."""
        target_context.refresh()
        path, key = self._place(sig, target_context.codegen())
        try:
            content = path.read_bytes()
            if content[:_DIGEST] != _digest(key, content[_DIGEST:]):
                raise ValueError("a file is damaged")
            return self._impl.rebuild(target_context, pickle.loads(content[_DIGEST:]))
        except FileNotFoundError:
            return None
        except Exception as error:  # classes may have been renamed since, or LLVM may refuse it
            with contextlib.suppress(OSError):
                path.unlink()
            _warn_once(
                f"machine code in {str(path.parent)!r} cannot be used ({_reason(error)}), and is "
                "compiled again"
            )
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code for a signature, where there is room."""
        if not self._impl.check_cachable(data):
            return
        path, key = self._place(sig, data.codegen)
        code = dumps(self._impl.reduce(data))  # type: ignore[no-untyped-call]
        try:
            self._impl.locator.ensure_cache_path()
            replace_file(path, [_digest(key, code), code])
        except OSError as error:
            _warn_once(
                f"machine code cannot be kept in {str(path.parent)!r} ({_reason(error)}), and is "
                "compiled again in every process; name another folder by NUMBA_CACHE_DIR"
            )

    def _place(self, sig: Any, codegen: Any) -> tuple[Path, bytes]:
        """Return where the machine code for a signature is, and what it depends on."""
        versions = sys.version_info[:2], numba.__version__, llvmlite.__version__
        key = repr((self._impl.filename_base, versions, codegen.magic_tuple(), sig)).encode()
        name = f"{self._impl.filename_base}.{hashlib.sha256(key).hexdigest()[:16]}.bin"
        return Path(self.cache_path, name), key


def keep_on_disk(function: Any) -> None:
    """Let a compiled function load its machine code from disk, and save it there."""
    try:
        function._cache = CodeCache(function.py_func)  # type: ignore[no-untyped-call]
    except RuntimeError:  # Numba finds no folder that can be written
        _warn_once(
            "machine code cannot be kept on disk, and is compiled again in every process; name a "
            "folder for it by NUMBA_CACHE_DIR"
        )


def _digest(key: bytes, code: bytes) -> bytes:
    return hashlib.sha256(key + code).digest()


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__


@cache
def _warn_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
