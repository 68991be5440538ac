"""`python -m tests.former_stores [NAME ...]`: ingest with former commits; keep each store, and the arrays that its commit reads of it.

Run once for each commit whose stores people have: the archive is committed. Needs the history of the repository.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.former_stores import archives, record
from tests.reviews import write_reviews
from tests.tiny_models import save_model

ROOT = Path(__file__).parents[2]
#: The last commit of a release, or the commit that a later change is compared with, by the name of its archive.
COMMITS = {"0.1.0": "ddf8b31", "37785a7": "37785a7"}
SETTINGS = ("--sentences=20", "--max-length=24", "--views=pca-exact-2d,umap-exact-2d", "--features=pca-joint")


def main() -> None:
    chosen = sys.argv[1:] or list(COMMITS)
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder)
        save_model(inputs / "tiny")
        write_reviews(inputs / "reviews.csv")
        for name in chosen:
            keep(name, COMMITS[name], inputs)


def keep(name: str, commit: str, inputs: Path) -> None:
    """Ingest with the packages of `commit`; keep the store and the arrays that these packages read of it as one archive."""
    tree, kept = inputs / "tree", inputs / name
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, commit], cwd=ROOT, check=True)
    try:
        kept.mkdir()
        model_and_data = (f"--model={inputs / 'tiny'}", f"--data={inputs / 'reviews.csv'}", f"--store={kept / 'store'}")
        run_with(tree, "-m", "ingest", *model_and_data, *SETTINGS)
        run_with(tree, str(record.__file__), str(kept / "store"), str(kept / "shown.npz"))
        with tarfile.open(archives.path(name), "w:xz") as archive:
            archive.add(kept, arcname=name)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def run_with(tree: Path, *arguments: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
    subprocess.run([sys.executable, *arguments], cwd=tree, env=environment, check=True)


if __name__ == "__main__":
    main()
