"""Memory that was freed: it goes back to the system, or is taken again."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.heavy

CODE = """
import sys, threading
import numpy as np, psutil
from dashboard.web.processes import return_freed_memory
if sys.argv[1] == "returned":
    return_freed_memory()
own, small = psutil.Process(), []

def work():
    held = [np.ones(300_000 + 1_000 * number, np.uint8) for number in range(100)]
    small.extend(np.ones(500, np.uint8) for _ in range(20))  # stays, above what is freed

before = own.memory_info().rss
for _ in range(3):
    threads = [threading.Thread(target=work) for _ in range(8)]
    [one.start() for one in threads]
    [one.join() for one in threads]
print((own.memory_info().rss - before) // 10**6)
"""


def megabytes(how: str) -> int:
    """Megabytes that a process keeps after eight threads have freed 280 MB."""
    done = subprocess.run([sys.executable, "-c", CODE, how], check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_memory_freed_by_threads_returns_to_the_system() -> None:
    assert megabytes("returned") < 30


WORKER = """
import pickle, resource
import numpy as np
from ingest.run import parallel

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        np.ones(2 << 20, np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

parallel.check_worker = lambda expected: None
print(faults(), pickle.loads(parallel.run_fit(pickle.dumps((faults, ())), {})))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_a_worker_takes_memory_that_it_has_freed_before() -> None:
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}  # as dask starts it
    done = subprocess.run([sys.executable, "-c", WORKER], env=environment, check=True, capture_output=True, text=True)
    before, within = map(int, done.stdout.split())
    assert before > 100 * 500  # pages of 4 kB
    assert within < before / 20


REUSED = """
import resource
import numpy as np
from dashboard.web.processes import resident_memory, return_freed_memory
from store.process import reusing_freed_memory

def faults(arrays):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(arrays):
        np.ones(2 << 20, np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

return_freed_memory()
before = resident_memory()
with reusing_freed_memory(32 << 20):
    within = faults(100)
print(within, faults(100), (resident_memory() - before) // 10**6)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_freed_memory_is_used_again_within_the_context_alone() -> None:
    done = subprocess.run([sys.executable, "-c", REUSED], check=True, capture_output=True, text=True)
    within, afterwards, kept = map(int, done.stdout.split())
    assert within < 100 * 512 / 10 < 100 * 512 / 2 < afterwards  # pages of 4 KB, of 2 MB in each array
    assert kept < 2


def test_arrow_takes_memory_where_a_worker_gives_it_back() -> None:
    """Memory that Arrow takes by its own allocator stays with the process."""
    code = "import dashboard.__main__, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "system\n"
