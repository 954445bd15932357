"""The image and compose files: what they name is there, and nothing secret is in them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.server import ROOT

DOCKER = ROOT / "docker"
SCRIPTS = sorted(DOCKER.glob("*.sh"))
PLACE = "/usr/local/lib/mnemo/"


def _instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (DOCKER / "Dockerfile").read_text("utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def _copied() -> dict[str, dict[str, str]]:
    """Image -> path in the image -> path in the repository."""
    images: dict[str, dict[str, str]] = {}
    name = ""
    for word, rest in _instructions():
        if word == "FROM":
            name = rest.split(" AS ")[1]
            images[name] = {}
        elif word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                found = sorted(ROOT.glob(source))
                assert found, f"{source} is copied and not there"
                for path in found:
                    images[name][target + path.name] = str(path.relative_to(ROOT))
    return images


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file, anchors resolved."""
    found: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yml").read_text("utf-8"))
    return found


def test_the_server_image_has_the_extension() -> None:
    copied = _copied()["postgres"]
    folder = "/usr/share/postgresql/18/extension/"
    assert copied[f"{folder}mnemo_pg.control"] == "sql/mnemo_pg.control"
    dist = {path.name for path in (ROOT / "sql" / "dist").glob("*.sql")}
    assert {name.removeprefix(folder) for name in copied if name.startswith(folder)} == dist | {
        "mnemo_pg.control"
    }
    bases = [rest.split()[0] for word, rest in _instructions() if word == "FROM"]
    assert bases == ["postgres:18-bookworm", "debian:bookworm-slim"]
    (packages,) = (rest for _, rest in _instructions() if "pgvector" in rest)
    assert "postgresql-18-pgvector" in packages


def test_every_script_of_this_folder_is_where_it_is_run_from(compose: dict[str, Any]) -> None:
    copied = _copied()
    for image, files in copied.items():
        for path in files.values():
            if path.endswith(".sh"):
                for used in re.findall(r'\$\{?lib\}?/([\w.]+)|/usr/local/lib/mnemo}?/([\w.]+)',
                                       (ROOT / path).read_text("utf-8")):  # fmt: skip
                    assert PLACE + "".join(used) in files, (image, path, used)
    for name, service in compose["services"].items():
        for script in service.get("entrypoint", []):
            assert script in copied[service["build"]["target"]], name
    for word, rest in _instructions():
        if word == "ENTRYPOINT":
            assert all(script in copied["pgbouncer"] for script in yaml.safe_load(rest))
        if "docker-entrypoint-initdb.d" in rest:
            assert rest.split()[2] in copied["postgres"]


def test_the_build_is_sent_what_it_copies_and_no_secret() -> None:
    rules = (DOCKER / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    rules = [rule for rule in rules if not rule.startswith("#")]
    assert rules[0] == "*"
    sent = {
        str(path.relative_to(ROOT)) for rule in rules[1:] for path in ROOT.glob(rule.lstrip("!"))
    }
    assert {path for files in _copied().values() for path in files.values()} <= sent
    assert not [path for path in sent if "secrets/" in path]
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert "docker/secrets/" in ignored


def test_the_services_refer_to_what_is_there(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {"primary", "standby", "pgbouncer", "install"}
    stages = set(_copied())
    for service in services.values():
        assert service["build"]["target"] in stages
        assert (DOCKER / service["build"]["context"]).resolve() == ROOT
        assert (ROOT / service["build"]["dockerfile"]).is_file()
        for other, how in service.get("depends_on", {}).items():
            assert other in services
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[other]
            elif how["condition"] == "service_completed_successfully":
                assert services[other]["restart"] == "no"
        assert set(service["networks"]) <= set(compose["networks"])
        for volume in service.get("volumes", []):
            assert volume.split(":")[0] in compose["volumes"]
            # Since 18 the image keeps its data in a folder of the version below this one.
            assert volume.split(":")[1] == "/var/lib/postgresql"


def test_passwords_come_from_files_alone(compose: dict[str, Any]) -> None:
    given = set()
    for name, service in compose["services"].items():
        for variable, content in service["environment"].items():
            if "PASSWORD" in variable:
                assert variable.endswith("_FILE"), (name, variable)
                secret = content.removeprefix("/run/secrets/")
                assert secret in service["secrets"], (name, variable)
                given.add(secret)
        # Each service has the secrets that it names, and no other.
        named = {
            str(value).removeprefix("/run/secrets/") for value in service["environment"].values()
        }
        assert set(service["secrets"]) <= named
    assert given == set(compose["secrets"])
    for secret, where in compose["secrets"].items():
        assert where == {"file": f"./secrets/{secret}"}
    assert not any(
        re.search(
            r"PASSWORD\s+'|password\s*[=:]\s*\w{6,}$|\btrust\b", path.read_text("utf-8"), re.M
        )
        for path in [*SCRIPTS, *DOCKER.glob("*.sql"), *DOCKER.glob("*.ini"), DOCKER / "Dockerfile"]
    )


def test_only_the_pooler_is_reachable_and_only_from_this_machine(compose: dict[str, Any]) -> None:
    published = {
        name: service["ports"]
        for name, service in compose["services"].items()
        if "ports" in service
    }
    assert published == {"pgbouncer": ["127.0.0.1:6432:6432"]}
    assert compose["networks"]["inside"] == {"internal": True}
    for service in compose["services"].values():
        assert "privileged" not in service
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_each_service_gets_the_variables_that_its_scripts_need(compose: dict[str, Any]) -> None:
    needed = {
        "primary": {"MNEMO_ADMIN_PASSWORD_FILE", "MNEMO_APP_PASSWORD_FILE",
                    "MNEMO_REPLICATION_PASSWORD_FILE", "POSTGRES_PASSWORD_FILE"},
        "install": {"MNEMO_ADMIN_PASSWORD_FILE"},
        "standby": {"MNEMO_REPLICATION_PASSWORD_FILE"},
        "pgbouncer": {"MNEMO_APP_PASSWORD_FILE"},
    }  # fmt: skip
    for name, variables in needed.items():
        environment = compose["services"][name]["environment"]
        assert {key for key in environment if key.endswith("_FILE")} == variables
        script = (DOCKER / f"{name}.sh").read_text("utf-8")
        assert set(re.findall(r"MNEMO_\w+_FILE", script)) <= variables
        known = {"POSTGRES_DB", "POSTGRES_USER", "POSTGRES_PASSWORD_FILE", "POSTGRES_INITDB_ARGS",
                 "PGHOST"}  # fmt: skip
        texts = script + (DOCKER / "lib.sh").read_text("utf-8")
        for key in environment.keys() - known:
            assert key in texts, (name, key)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_each_script_is_plain_shell(script: Path) -> None:
    done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    text = script.read_text("ascii")
    if script.name == "lib.sh":
        assert not os.access(script, os.X_OK) or os.geteuid() == 0
        return
    assert script.stat().st_mode & 0o111 == 0o111
    assert text.startswith("#!/bin/sh\n")
    assert "\nset -eu\n" in text


def test_the_pooler_image_does_not_run_as_root() -> None:
    users = [shlex.split(rest)[0] for word, rest in _instructions() if word == "USER"]
    assert users == ["postgres"]
