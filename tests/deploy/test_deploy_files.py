"""The files of deploy/: Handrail takes what they say to it, they agree with each other and hold no secret."""

import re
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
import yaml

from handrail import __version__
from handrail.cli.main import cli
from handrail.http.application import OPEN_PATHS
from helpers.deploy_files import (
    ROOT,
    find_command_error,
    find_last_instruction,
    list_command_lines,
    list_variables,
    read_deploy_file,
    read_document,
    read_documents,
    read_stages,
    read_unit,
    read_unit_settings,
)
from test_docs import settings as read_by

LISTENS = "0.0.0.0:8765"


def test_every_command_line_is_one_that_the_program_takes() -> None:
    found = dict(list_command_lines())

    assert list(found) == [
        "Dockerfile CMD",
        "Dockerfile HEALTHCHECK",
        "compose.yaml handrail-1",
        "compose.yaml handrail-2",
        "kubernetes.yaml",
        "handrail.service ExecStart",
        "handrail.service ExecStartPost",
        "as-handrail",
    ]
    assert {
        where: find_command_error(words) for where, words in found.items() if find_command_error(words)
    } == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("serve --http 127.0.0.1:0 --replica-s", "No such option"),
        ("serve --http", "requires an argument"),
        ("serve --auth password", "is not one of"),
        ("serve --proxy proxy", "neither an address"),
        ("sevre", "No such command"),
        ("token create", "Missing argument"),
        ("token craete ada", "No such command"),
        ("ready 127.0.0.1:0 --within soon", "is not a valid integer range"),
    ],
)
def test_a_command_line_that_the_program_does_not_take_is_found(words: str, said: str) -> None:
    assert said in find_command_error(words.split())


def test_every_variable_for_handrail_is_one_that_it_reads() -> None:
    given = {name for _, name, _ in list_variables() if name.startswith("HANDRAIL_")}

    assert given == {"HANDRAIL_KNOWN_AS", "HANDRAIL_PROXY", "HANDRAIL_STORE"}
    assert given - set(read_by(cli)) == set()


def test_no_password_stands_in_a_file_or_on_a_command_line() -> None:
    for where, name, value in list_variables():
        assert not re.search(r"://[^/@]*:[^/@]*@", value), (where, name)
        if "PASS" in name and not name.endswith("FILE"):
            assert value == "", (where, name)
    assert {name for _, name, _ in list_variables() if name.startswith(("PG", "POSTGRES"))} == {
        *("PGPASSFILE", "PGPASSWORD"),
        *("POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE"),
    }


def test_the_image_is_built_in_one_stage_and_installed_into_another() -> None:
    build, image = read_stages(read_deploy_file("Dockerfile"))

    assert [build[0].said, image[0].said] == ["python:3.13-slim AS build", "python:3.13-slim"]
    copied = [step.said for step in image if step.word in {"COPY", "ADD"}]
    assert copied == ["--from=build /opt/handrail /opt/handrail"]
    pips = [step.said for step in build if re.search(r"pip (wheel|install)", step.said)]
    assert [("--no-cache-dir" in said, "[postgresql]" in said) for said in pips] == [
        (True, False),
        (True, True),
    ]


def test_the_image_runs_as_a_number_that_is_not_root() -> None:
    assert find_last_instruction("USER").said == "10001:10001"
    order = [step.word for step in read_stages(read_deploy_file("Dockerfile"))[-1]]
    assert "RUN" not in order[order.index("USER") :]


def test_what_asks_the_image_for_its_health_asks_where_it_listens() -> None:
    assert find_last_instruction("HEALTHCHECK").words[-1] == LISTENS
    assert find_last_instruction("CMD").words[-1] == LISTENS
    assert find_last_instruction("EXPOSE").said == "8765"


def test_only_what_the_image_is_built_from_is_sent_to_the_builder() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    copied = {
        path
        for step in read_stages(read_deploy_file("Dockerfile"))[0]
        if step.word == "COPY"
        for path in step.said.split()[:-1]
    }

    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied
    assert [path for path in copied if not (ROOT / path).exists()] == []


@pytest.fixture(scope="module")
def composed() -> dict[str, Any]:
    return read_document("compose.yaml")


def test_the_proxy_knows_every_server_by_its_name_and_they_know_the_proxy_by_its_address(
    composed: dict[str, Any],
) -> None:
    services = composed["services"]
    servers = {
        name: it["networks"]["inside"]["ipv4_address"] for name, it in services.items() if "build" in it
    }
    proxy = services["proxy"]

    assert list(servers) == ["handrail-1", "handrail-2"]
    assert re.findall(r"server (\S+):8765 ", read_deploy_file("nginx.conf")) == list(servers)
    assert proxy["extra_hosts"] == [f"{name}:{address}" for name, address in servers.items()]
    mine = proxy["networks"]["inside"]["ipv4_address"]
    assert {services[name]["environment"]["HANDRAIL_PROXY"] for name in servers} == {mine}
    (net,) = composed["networks"]["inside"]["ipam"]["config"]
    assert all(ip_address(one) in ip_network(net["subnet"]) for one in (mine, *servers.values()))


def test_servers_ask_for_tokens_and_listen_where_their_health_is_asked_for(composed: dict[str, Any]) -> None:
    for name in ("handrail-1", "handrail-2"):
        service = composed["services"][name]
        assert service["command"] == ["serve", "--http", LISTENS, "--replicas"]
        assert "healthcheck" not in service


def test_only_the_proxy_is_reached_from_outside_and_without_tls_from_this_machine_only(
    composed: dict[str, Any],
) -> None:
    services = composed["services"]

    assert {name for name, it in services.items() if "ports" in it} == {"proxy"}
    assert services["proxy"]["ports"] == ["127.0.0.1:8080:8080"]
    assert read_document("compose.tls.yaml")["services"]["proxy"]["ports"] == ["443:8443"]


def test_nothing_of_ours_may_do_more_than_it_must(composed: dict[str, Any]) -> None:
    for name in ("handrail-1", "handrail-2", "proxy"):
        service = composed["services"][name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_secrets_are_files_that_git_does_not_see(composed: dict[str, Any]) -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    files = [*composed["secrets"].values(), *read_document("compose.tls.yaml")["secrets"].values()]

    assert {"/deploy/secrets/", "/deploy/projects/"} <= set(ignored)
    assert all(one["file"].startswith("./secrets/") for one in files)


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return read_documents("kubernetes.yaml")


def test_what_is_deployed_in_a_cluster_is_what_its_service_and_its_budget_select(
    cluster: dict[str, Any],
) -> None:
    labels = {"app.kubernetes.io/name": "handrail"}
    deployment = cluster["Deployment"]["spec"]

    assert set(cluster) == {"PersistentVolumeClaim", "Service", "PodDisruptionBudget", "Deployment"}
    assert deployment["template"]["metadata"]["labels"] == labels
    assert deployment["selector"]["matchLabels"] == labels
    assert cluster["Service"]["spec"]["selector"] == labels
    assert cluster["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels


def test_a_cluster_has_never_fewer_servers_than_it_should(cluster: dict[str, Any]) -> None:
    deployment = cluster["Deployment"]["spec"]

    assert deployment["replicas"] >= 2
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert cluster["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_probes_ask_routes_that_are_open_by_a_name_that_is_known(cluster: dict[str, Any]) -> None:
    (pod,) = cluster["Deployment"]["spec"]["template"]["spec"]["containers"]
    asked = {kind: pod[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")}

    assert {kind: one["path"] for kind, one in asked.items()} == {
        "startup": "/readyz",
        "readiness": "/readyz",
        "liveness": "/healthz",
    }
    assert {one["path"] for one in asked.values()} == OPEN_PATHS
    assert {pod["args"][2], *(one["httpHeaders"][0]["value"] for one in asked.values())} == {LISTENS}
    assert {one["port"] for one in asked.values()} == {pod["ports"][0]["name"]}
    assert cluster["Service"]["spec"]["ports"][0]["targetPort"] == pod["ports"][0]["name"]


def test_a_pod_may_do_no_more_than_it_must(cluster: dict[str, Any]) -> None:
    spec = cluster["Deployment"]["spec"]["template"]["spec"]
    (pod,) = spec["containers"]
    user = int(find_last_instruction("USER").said.split(":")[0])

    assert (spec["securityContext"]["runAsNonRoot"], spec["securityContext"]["runAsUser"]) == (True, user)
    assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
    assert pod["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {one["name"] for one in pod["volumeMounts"]} == {one["name"] for one in spec["volumes"]}


def test_a_command_run_as_the_service_has_its_user_its_folders_and_its_settings() -> None:
    service = read_unit_settings("handrail.service")
    script = read_deploy_file("as-handrail")
    given = dict(re.findall(r"--property=(\w+)=(\S+)", script))
    homes = re.findall(r"--setenv=((?:HOME|XDG_\w+)=\S+)", script)

    assert given == {name: service[name] for name in given}
    assert set(given) == {
        *("User", "DynamicUser", "StateDirectory", "StateDirectoryMode", "UMask", "EnvironmentFile"),
    }
    assert homes == service["Environment"].split()


def test_the_folders_of_the_image_are_those_of_the_service() -> None:
    said = " ".join(
        step.said for step in read_stages(read_deploy_file("Dockerfile"))[-1] if step.word == "ENV"
    )

    assert set(read_unit_settings("handrail.service")["Environment"].split()) <= set(said.split())


def test_a_server_has_the_time_to_end_that_it_may_take(
    composed: dict[str, Any], cluster: dict[str, Any]
) -> None:
    """Ten seconds for calls and ten for streams, and as many again for the rest."""
    pod = cluster["Deployment"]["spec"]["template"]["spec"]
    service = read_unit_settings("handrail.service")

    assert int(service["TimeoutStopSec"]) >= 30
    assert (service["KillSignal"], service["KillMode"]) == ("SIGTERM", "mixed")
    assert int(composed["services"]["handrail-1"]["stop_grace_period"].removesuffix("s")) >= 30
    (seconds,) = (int(one) for one in pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1:])
    assert pod["terminationGracePeriodSeconds"] - seconds >= 30


def test_images_have_names_and_no_hosts() -> None:
    services = [*read_document("compose.yaml")["services"].values()]
    (pod,) = read_documents("kubernetes.yaml")["Deployment"]["spec"]["template"]["spec"]["containers"]
    bases = [stage[0].said.split()[0] for stage in read_stages(read_deploy_file("Dockerfile"))]
    names = {*(one["image"] for one in services), pod["image"], *bases}

    assert names == {"handrail", "handrail:0.1.0", "postgres:17", "nginx:stable", "python:3.13-slim"}


def test_the_version_in_the_cluster_is_that_of_the_program() -> None:
    (pod,) = read_documents("kubernetes.yaml")["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert pod["image"] == f"handrail:{__version__}"


def test_a_key_of_yaml_or_of_the_unit_stands_once() -> None:
    twice = [
        key
        for key, _ in read_unit("handrail.service")
        if [k for k, _ in read_unit("handrail.service")].count(key) > 1
    ]

    assert set(twice) == {"SystemCallFilter"}
    for name in ("compose.yaml", "compose.tls.yaml", "kubernetes.yaml"):
        for node in yaml.compose_all(read_deploy_file(name)):
            assert _twice(node) == []


def _twice(node: yaml.Node | None) -> list[str]:
    """The keys that stand more than once in a mapping, at any depth."""
    if isinstance(node, yaml.SequenceNode):
        return [key for one in node.value for key in _twice(one)]
    if not isinstance(node, yaml.MappingNode):
        return []
    keys = [str(key.value) for key, _ in node.value]
    here = [key for key in keys if keys.count(key) > 1]
    return here + [key for _, value in node.value for key in _twice(value)]
