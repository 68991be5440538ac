"""The command `headscape`: every command of the product, from any folder.

`python -m ingest` and the like look for packages in the working folder first; this command does not.
"""

import sys
from importlib import import_module

#: Command -> module whose `main` it is, and what that module calls it.
COMMANDS = {
    "ingest": ("ingest.__main__", []),
    "finetune": ("ingest.finetuning.__main__", []),
    "dashboard": ("dashboard.__main__", []),
    **{name: ("store.__main__", [name]) for name in ("describe", "verify", "mend", "expire")},
}


def main() -> int:
    """Exit status of the command that is named first."""
    name, *arguments = sys.argv[1:] or [""]
    if name not in COMMANDS:
        print(f"headscape: {name!r} is no command. Give one of {', '.join(COMMANDS)}.", file=sys.stderr)
        return 2
    module, own = COMMANDS[name]
    sys.argv[1:] = [*own, *arguments]
    return int(import_module(module).main())
