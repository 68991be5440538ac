"""The files around the code: workflows and hooks run existing commands, the version is the same everywhere, no large file is committed."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
#: Most bytes of a file in the repository; the largest are a picture of docs/ and the lock.
LARGEST = 1 << 20
#: Use of an action by the hash of a commit, with its version in a comment.
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n")


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))


def jobs(workflow: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(workflow.read_text("utf-8"))["jobs"])


def test_there_are_workflows_and_forms() -> None:
    assert {path.stem for path in WORKFLOWS} == {"check", "weekly"}
    assert {path.stem for path in FORMS} == {"bug", "feature", "config"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_of_make_alone(workflow: Path) -> None:
    commands = [step["run"] for job in jobs(workflow).values() for step in job["steps"] if "run" in step]
    assert commands
    asked = [re.fullmatch(r"make ([a-z-]+)((?: [A-Z]+=\w+)*)", command) for command in commands]
    assert {found and found[1] for found in asked} <= targets()
    flags = {name for found in asked if found for name in re.findall(r"([A-Z]+)=", found[2])}
    assert flags <= set(re.findall(r"\$\(call if_true,\$\(([A-Z]+)\)", read("Makefile")))


def test_the_gallery_is_compared_with_a_store_made_anew_every_week() -> None:
    steps = [step.get("run") for step in jobs(ROOT / ".github/workflows/weekly.yml")["gallery"]["steps"]]
    assert steps[1:] == ["make debian", "make install", "make ingest", "make gallery CHECK=1"]


def test_the_scripts_that_ci_and_make_run_are_in_the_repository() -> None:
    named = set(re.findall(r"\.ci/\w+", read(".ci/run") + read("Makefile")))
    listed = subprocess.run(["git", "ls-files", ".ci"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert ".ci/debian" in named <= set(listed.split())


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_and_every_job_has_a_limit_of_time(workflow: Path) -> None:
    content = yaml.safe_load(workflow.read_text("utf-8"))
    assert content["permissions"] == {"contents": "read"}
    assert "concurrency" in content
    assert [name for name, job in jobs(workflow).items() if "timeout-minutes" not in job or "permissions" in job] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_named_by_the_hash_of_its_version(workflow: Path) -> None:
    text = workflow.read_text("utf-8")
    assert len(PINNED.findall(text)) == text.count("uses: ")


def test_the_tested_versions_of_python_are_those_of_the_package() -> None:
    named = re.findall(r"Python :: (3\.\d+)", read("pyproject.toml"))
    check = jobs(ROOT / ".github/workflows/check.yml")
    assert check["quick"]["strategy"]["matrix"]["python"] == named
    assert check["pages"]["strategy"]["matrix"]["python"] == named


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_has_fields_with_names_of_their_own(form: Path) -> None:
    content = yaml.safe_load(form.read_text("utf-8"))
    names = [field["id"] for field in content.get("body", []) if field["type"] != "markdown"]
    assert len(names) == len(set(names))
    assert form.stem == "config" or (content["name"] and content["description"] and names)


def test_every_hook_runs_a_tool_that_the_environment_has() -> None:
    """The command `make hooks` installs pre-commit, `make install` the tools."""
    hooks = [hook for repo in yaml.safe_load(read(".pre-commit-config.yaml"))["repos"] for hook in repo["hooks"]]
    assert {hook["language"] for hook in hooks} == {"system"}
    tools = {hook["entry"].split()[0] for hook in hooks}
    packages = {"python"} | set(re.findall(r"^([a-z]+)==", read("requirements.lock"), re.MULTILINE))
    assert {tool.removeprefix(".venv/bin/") for tool in tools} <= packages


def test_the_tools_are_locked_with_hashes() -> None:
    blocks = re.split(r"\n(?=[a-z])", read("docs/requirements.lock"))[1:]
    assert all("--hash=sha256:" in block for block in blocks)
    groups = tomllib.loads(read("pyproject.toml"))["dependency-groups"]
    names = {re.split(r"[<>=]", line)[0] for group in groups.values() for line in group}
    assert names <= {block.split("==")[0] for block in blocks}


def test_the_citation_names_the_released_version() -> None:
    cited = yaml.safe_load(read("CITATION.cff"))
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert cited["version"] == version
    assert f"## {version} - {cited['date-released']}" in read("CHANGELOG.md")
    assert f"version = {{{version}}}" in read("README.md")


def test_no_large_file_is_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    assert [path.name for path in paths if path.is_file() and path.stat().st_size > LARGEST] == []
