"""`headscape mcp STORE`: a read-only server of the Model Context Protocol, by which language models ask a store questions."""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.metadata import version
from typing import Any

from store.__main__ import STORE
from store.process import check_extra, until_pipe_closes
from store.repository.errors import StoreError

INSTRUCTIONS = (
    "What every attention head of an encoder does over a whole corpus of sentences. Begin with list_models. Numbers are means over the "
    "corpus with 95% intervals over sentences; every answer says how many of how many it shows, and links to its view."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: exit status 0, or 1 after a message on what to do next."""
    return until_pipe_closes(lambda: _run(_parser().parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    try:
        for extra in ("dashboard", "mcp"):
            check_extra(extra)
        from dashboard.programs.tools import StoreTools
        from dashboard.web.served_store import ServedStore

        served_store = ServedStore(options.store or options.place or STORE)
        served_store.snapshot()
        protocol_server(StoreTools(served_store, options.server.rstrip("/"))).run()
    except StoreError as error:
        print(f"mcp: {error}", file=sys.stderr)
        return 1
    return 0


def protocol_server(tools: Any) -> Any:
    """An `MCPServer` with every public method of the tools as a read-only tool, under the name and with the docstring of the method."""
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    from dashboard.programs.tools import tool_names

    server = MCPServer("headscape", instructions=INSTRUCTIONS, version=version("headscape"), log_level="WARNING")
    for name in tool_names():
        reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        answer = refusing(getattr(tools, name), tools.served_store.cache)
        server.add_tool(answer, name=name, annotations=reads)
    return server


def refusing(tool: Callable[..., Any], cache: Any) -> Callable[..., Any]:
    """A tool with the store's cache; for a `Refusal` or a `StoreError` the program reads its sentence."""
    from mcp.server.mcpserver.exceptions import ToolError

    from dashboard.web.errors import Refusal

    @wraps(tool)
    def answer(**asked: Any) -> Any:
        try:
            return cache.run(tool, **asked)
        except (StoreError, Refusal) as error:
            raise ToolError(str(error)) from error

    return answer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headscape mcp", description="Answer programs by the Model Context Protocol, on standard input and output."
    )
    parser.add_argument("place", nargs="?", metavar="STORE", help=f"folder or URL of the store (default: {STORE})")
    parser.add_argument("--store", help="the same")
    parser.add_argument("--server", default="", help="address of a dashboard of this store: links begin with it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
