"""The site of the documentation: `python -m tests.docs_site` (`make docs`) builds build/site. A broken link ends it with an error.

Formulas become MathML, which browsers draw without a script.
"""

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dashboard.documentation import as_mathml

ROOT = Path(__file__).parents[1]
PAGES, SITE = ROOT / "build/pages", ROOT / "build/site"
#: A formula as pymdownx.arithmatex leaves it in a page, inline or on lines of its own.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\[(\[](.*?)\\[)\]]\s*</\1>', re.DOTALL)


def gather(pages: Path) -> None:
    """Copy docs/ into a folder, with the README as its first page and the changelog; their links lead to the copies."""
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns("*.lock"))
    for name, page in (("README.md", "index.md"), ("CHANGELOG.md", "changelog.md")):
        text = (ROOT / name).read_text("utf-8")
        (pages / page).write_text(text.replace("](docs/", "]("), "utf-8")


def with_formulas(page: str) -> str:
    """The HTML of a page with its formulas in MathML. ValueError where a formula has an unknown command."""
    return FORMULA.sub(lambda found: as_mathml(html.unescape(found[2]), block=found[1] == "div"), page)


def llms_text(pages: Path) -> str:
    """The pages in Markdown for language models, each with its sections, as llmstxt.org lays them out."""
    index, *others = sorted(pages.glob("*.md"), key=lambda page: (page.name != "index.md", page.name))
    title, summary = index.read_text("utf-8").removeprefix("# ").split("\n\n")[:2]
    rows = [_listed(page) for page in others]
    return "\n".join([f"# {title}", "", f"> {' '.join(summary.split())}", "", "## Documentation", "", *rows, ""])


def _listed(page: Path) -> str:
    text = page.read_text("utf-8")
    title, *sections = re.findall(
        r"^##? (.+)$", re.sub(r"^```.*?^```|^ {4}.*?$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return f"- [{title}]({page.name}): {', '.join(sections) or 'the whole page'}"


def build() -> int:
    """Build the site; the exit status of zensical."""
    gather(PAGES)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", "zensical.toml"]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    for page in SITE.glob("*.html"):
        page.write_text(with_formulas(page.read_text("utf-8")), "utf-8")
    for markdown in PAGES.glob("*.md"):
        shutil.copy(markdown, SITE)
    (SITE / "llms.txt").write_text(llms_text(PAGES), "utf-8")
    return status


if __name__ == "__main__":
    sys.exit(build())
