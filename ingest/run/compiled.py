"""numba's compiler, after a place was found where compiled code can be kept. Import it where it is used: it is slow to import."""

import os

from ingest.run.files import place_compiled_code

place_compiled_code(os.environ)  # numba reads it once, when it is imported

from numba import njit  # noqa: E402

__all__ = ["njit"]
