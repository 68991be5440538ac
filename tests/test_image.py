"""The image, the services of compose.yaml and the conda recipe: their names exist, in the project's versions, without a secret."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboard.access.gate import OPEN
from dashboard.notes.address import notes_address
from headscape.__main__ import COMMANDS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
RECIPE = yaml.safe_load((ROOT / "docs/conda/recipe.yaml").read_text("utf-8"))
#: Names on conda of packages with another name on PyPI. Names on conda have no capital letters, and packages no extras.
OF_CONDA = {"torch": "pytorch", "prometheus-client": "prometheus_client"}
OURS = ("server", "ingest")


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def steps() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each with its continuation lines on one line."""
    lines = re.sub(r"^#.*\n", "", read("Dockerfile"), flags=re.MULTILINE).replace("\\\n", "")
    return [(line.split()[0], line.partition(" ")[2]) for line in lines.splitlines() if line]


def said(instruction: str) -> list[str]:
    return [rest for name, rest in steps() if name == instruction]


def last_stage() -> list[tuple[str, str]]:
    starts = [number for number, (name, _) in enumerate(steps()) if name == "FROM"]
    return steps()[starts[-1] :]


def test_the_image_runs_as_a_user_who_owns_nothing_of_the_program() -> None:
    assert [rest for name, rest in last_stage() if name == "USER"] == ["10001:10001"]
    assert not any("--chown" in rest for name, rest in last_stage() if name == "COPY")


def test_the_image_asks_the_route_of_health_on_the_port_that_it_names() -> None:
    (health,) = re.findall(r"HEALTH=(\S+)", " ".join(said("ENV")))
    assert health in {f"http://127.0.0.1:{port}{route}" for port in said("EXPOSE") for route in OPEN}
    assert "os.environ['HEALTH']" in said("HEALTHCHECK")[0]


def test_the_image_has_the_torch_of_the_makefile_in_a_build_for_cpus() -> None:
    (pinned,) = re.findall(r"^TORCH \?= (\S+)", read("Makefile"), re.MULTILINE)
    assert {f"TORCH={pinned}", "TORCH_INDEX=https://download.pytorch.org/whl/cpu"} <= {*said("ARG")}


def test_packages_come_from_the_lock_by_their_hashes_and_those_of_tests_stay_out() -> None:
    locked = [rest for rest in said("RUN") if "requirements.lock" in rest]
    assert all("--require-hashes" in rest for rest in locked)
    assert len(locked) == 1
    (extras,) = [rest.removeprefix("EXTRAS=").split(",") for rest in said("ARG") if rest.startswith("EXTRAS=")]
    assert {*extras} < PROJECT["optional-dependencies"].keys() - {"all", "test"}


def test_every_file_that_is_copied_exists_and_is_let_through() -> None:
    own = [source for rest in said("COPY") if "--from=" not in rest for source in rest.split()[:-1]]
    assert [source for source in own if not [*ROOT.glob(source)]] == []
    assert {f"!{source}" for source in own} == {line for line in read(".dockerignore").splitlines() if line[0] == "!"}


def test_every_command_of_the_project_starts_from_the_entry_of_the_image() -> None:
    entry, command = (json.loads(said(name)[0]) for name in ("ENTRYPOINT", "CMD"))
    assert entry == [*PROJECT["scripts"]]
    assert {command[0], SERVICES["server"]["command"][0]} <= COMMANDS.keys()


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml"])
def test_no_secret_is_in_a_file(name: str) -> None:
    assert re.findall(r"(?i)(?:password|secret|token)\s*[:=]\s*\S|://[^/@\s]+:[^@\s]+@", read(name)) == []


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_may_write_its_volumes_alone_and_gets_no_more_rights(name: str) -> None:
    service = SERVICES[name]
    assert (service["read_only"], service["tmpfs"], service["cap_drop"]) == (True, ["/tmp"], ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "pid"} & service.keys()
    assert "mem_limit" in service


def test_every_volume_has_a_name() -> None:
    named = yaml.safe_load(read("compose.yaml"))["volumes"].keys()
    assert {volume.split(":")[0] for service in SERVICES.values() for volume in service["volumes"]} == named


def test_folders_of_the_services_are_those_of_the_image() -> None:
    made = set(next(rest for rest in said("RUN") if "--owner=10001" in rest).split()[-3:])
    mounted = {volume.split(":")[1] for name in OURS for volume in SERVICES[name]["volumes"]}
    assert mounted - made == {"/run/postgresql"}


def test_the_server_only_reads_the_store_and_only_this_machine_reaches_it() -> None:
    assert "data:/data:ro" in SERVICES["server"]["volumes"]
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["server"]["ports"])


def test_notes_are_in_a_database_without_a_network() -> None:
    notes = SERVICES["notes"]
    assert (notes["network_mode"], notes["command"]) == ("none", ["postgres", "-c", "listen_addresses="])
    url = notes_address(SERVICES["server"]["environment"]["HEADSCAPE_NOTES"], "/data/store").url
    assert url is not None
    assert (url.host, url.password, url.username) == (None, None, notes["environment"]["POSTGRES_USER"])
    assert f"socket:{url.query['host']}" in SERVICES["server"]["volumes"]


def test_the_nightly_ingest_begins_anew_when_its_command_has_slept() -> None:
    commands = re.findall(r"headscape (\S+)", SERVICES["ingest"]["command"][0])
    assert commands == ["ingest", "expire"]
    assert SERVICES["ingest"]["command"][0].endswith("; exec sleep 1d")
    assert SERVICES["ingest"]["restart"] == "unless-stopped"


def as_conda(requirement: str) -> str:
    """A requirement of pyproject.toml in the form of a conda recipe."""
    found: Any = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+])?(\S+)", requirement)
    name = found[1].lower()
    return f"{OF_CONDA.get(name, name)} {found[2]}"


def test_the_recipe_of_conda_needs_what_the_project_needs() -> None:
    python = f"python {PROJECT['requires-python'].replace(RECIPE['context']['python_min'], '${{ python_min }}')}"
    assert RECIPE["requirements"]["run"] == [python, *map(as_conda, PROJECT["dependencies"])]
    assert RECIPE["context"]["version"] == PROJECT["version"]


def test_the_recipe_of_conda_bounds_what_the_extras_need() -> None:
    needed = [line for name, extra in PROJECT["optional-dependencies"].items() if name != "test" for line in extra]
    assert RECIPE["requirements"]["run_constraints"] == sorted(
        {as_conda(line) for line in needed if not line.startswith("headscape[")}
    )


def test_the_recipe_of_conda_starts_the_same_command() -> None:
    entries = dict(line.split(" = ") for line in RECIPE["build"]["python"]["entry_points"])
    assert entries == PROJECT["scripts"]
