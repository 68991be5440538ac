"""`python -m tests.bench [NAME ...]`: run these benchmarks, or all, and print their tables."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from ingest.run.settings import NONE, Settings
from store import StoreError
from tests.bench.agreement import agreement
from tests.bench.answers import answers
from tests.bench.arrival import arrival
from tests.bench.attentionviz import against_attentionviz
from tests.bench.browser import pages
from tests.bench.encoders import encoders
from tests.bench.families import families
from tests.bench.faults import faults
from tests.bench.features_page import features_page
from tests.bench.fidelity import STORE, fidelity
from tests.bench.firefox import firefox
from tests.bench.flips import flips
from tests.bench.fuzz import fuzz
from tests.bench.ingest import memory_and_bytes, rate
from tests.bench.interactions import interactions
from tests.bench.intervals import intervals
from tests.bench.kills import kills
from tests.bench.load import crowd, flood, team
from tests.bench.models_page import models_page
from tests.bench.monitoring import monitoring
from tests.bench.object_storage import in_object_storage
from tests.bench.peers import compare
from tests.bench.projections import seconds_per_head
from tests.bench.reading import reads
from tests.bench.refresh import refresh
from tests.bench.relations import relations
from tests.bench.reloads import reloads
from tests.bench.replacement import replacement
from tests.bench.role_stage import role_stage
from tests.bench.roles import roles
from tests.bench.rounding import rounding
from tests.bench.screenshots import screenshots
from tests.bench.sizes import Size, sizes
from tests.bench.slow import slow
from tests.bench.statistics import computed, recomputed
from tests.bench.tasks import tasks
from tests.bench.trial import trials
from tests.bench.typing import typing
from tests.bench.vectors import vectors
from tests.bench.vitals import vitals
from tests.bench.words import words
from tests.bench.workers import workers

#: The store whose pages are served; `STORE=...` names another store, `ADDRESS=http://...` a running server.
SERVED = os.environ.get("STORE") or "data/headscape"
ADDRESS = os.environ.get("ADDRESS")


def statistics() -> None:
    """Seconds that statistics take in an ingest, and for a reader who recomputes them."""
    computed(Settings(sentences=2000))
    recomputed((50_000, 200_000))


BENCHMARKS: dict[str, Callable[[], int | None]] = {
    "ingest": lambda: rate(Settings(sentences=2000)),
    "counted": lambda: rate(Settings(sentences=20_000, vectors="1")),
    "long": lambda: rate(Settings(sentences=1000, max_length=512), recut=512),
    "memory": lambda: memory_and_bytes((2000, 8000)),
    "vectors": lambda: vectors(2000, 8000, 50_000),
    "reading": lambda: reads(layers=12, heads=12, channels=64, tokens=50_000),
    "relations": lambda: relations(layers=12, heads=12, channels=64, tokens=50_000),
    "kills": lambda: kills(20),
    "flips": lambda: flips("data/headscape", 20),
    "fidelity": fidelity,
    "attentionviz": lambda: against_attentionviz(STORE),
    "answers": answers,
    "agreement": lambda: agreement(SERVED),
    "arrival": lambda: arrival(SERVED),
    "encoders": encoders,
    "families": families,
    "intervals": lambda: intervals(SERVED, (20, 50, 100, 200)),
    "roles": lambda: roles(SERVED),
    "replacement": lambda: replacement(SERVED),
    "role_stage": lambda: role_stage(SERVED),
    "rounding": lambda: rounding(SERVED),
    "projections": lambda: seconds_per_head(STORE),
    "browser": lambda: pages([(12, 12, 64, 50_000), (12, 12, 16, 1_000_000)]),
    "vitals": lambda: vitals(SERVED),
    "screenshots": lambda: screenshots(SERVED, Path("data/screenshots"), ADDRESS),
    "tasks": lambda: tasks(SERVED, ADDRESS),
    "interactions": lambda: interactions(SERVED, ADDRESS),
    "firefox": lambda: firefox(SERVED, ADDRESS),
    "peers": compare,
    "typing": typing,
    "slow": slow,
    "sizes": lambda: sizes((Size(100_000), Size(1_000_000), Size(10_000_000, vectors=200_000))),
    "statistics": statistics,
    "features": lambda: features_page("data/headscape"),
    "trial": lambda: trials("data/headscape"),
    "words": lambda: words(Settings(views="pca-exact-2d", features=NONE, reviews=NONE)),
    "team": lambda: team(SERVED),
    "crowd": lambda: crowd(SERVED),
    "flood": lambda: flood(SERVED),
    "refresh": lambda: refresh(SERVED),
    "faults": lambda: faults(SERVED),
    "object-storage": in_object_storage,
    "fuzz": lambda: fuzz(SERVED),
    "models": models_page,
    "monitoring": monitoring,
    "workers": lambda: workers(10, rate=2_000),
    "reloads": lambda: reloads("data/headscape"),
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all."""
    if unknown := set(names) - set(BENCHMARKS):
        print(
            f"There is no benchmark {', '.join(sorted(unknown))}. There are: {', '.join(BENCHMARKS)}.", file=sys.stderr
        )
        return 1
    try:
        return max([BENCHMARKS[name]() or 0 for name in names or BENCHMARKS])
    except StoreError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
