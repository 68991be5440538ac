"""Figures of the structure, as a table.

`python -m tests.structure [COMMIT ...]`: figures of these commits and of the working tree.
`python -m tests.structure --walks [NAME]`: rooms and climbs of the walks, or the steps of one walk.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.structure.figures import figures
from tests.structure.walks import listing, read_walks, table

ROOT = Path(__file__).parents[2]


def main() -> None:
    option, *names = sys.argv[1:] or [""]
    if option == "--walks":
        walks = read_walks()
        print("\n".join(listing(walks[name]) for name in names) or table(walks.values()))
        return
    columns = {commit: _figures_of(commit) for commit in sys.argv[1:]} | {"working tree": figures(ROOT)}
    print(f"| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name in figures(ROOT):
        print(f"| {name} | {' | '.join(column[name] for column in columns.values())} |")


def _figures_of(commit: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "--extract"], cwd=folder, input=archive, check=True)
        return figures(Path(folder))


if __name__ == "__main__":
    main()
