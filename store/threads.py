"""How many threads the libraries of linear algebra use."""

import sys
from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


def one_thread(api: str | None = None) -> AbstractContextManager[object]:
    """Leave the libraries of an interface (`blas`), or all, one thread each within the context.

    To find them reads all that the process has mapped, for longer than a small product takes. They come with modules:
    they are looked for again where modules have been imported since.
    """
    return _libraries(len(sys.modules)).limit(limits=1, user_api=api)


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    assert modules
    return ThreadpoolController()
