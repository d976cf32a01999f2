"""deploy/helm-values.yaml fits the rules of Dagster's chart, agrees with the files beside it, and has no secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.support.project import ROOT

DEPLOY = ROOT / "deploy"


def one(**properties: Any) -> dict[str, Any]:
    """Return the rule of an object that has all of these members and no others."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def only(value: Any) -> dict[str, Any]:
    return {"const": value}


TEXT, YES_OR_NO = {"type": "string", "minLength": 1}, {"type": "boolean"}
PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
IMAGE = one(
    repository=TEXT, tag={"type": ["string", "integer"]}, pullPolicy={"enum": ["Always", "IfNotPresent", "Never"]}
)
QUANTITY = {"type": "string", "pattern": r"^[0-9.]+(m|[kKMGT]i?)?$"}
# Our own words for the members that the file sets, after the classes of values.schema.json in dagster-io/dagster
# (helm/dagster/schema/schema/charts: dagster/values.py, dagster/subschema, dagster_user_deployments/subschema and
# utils/kubernetes.py). `helm` refuses other members in dagsterWebserver, dagsterDaemon, runCoordinator, runLauncher,
# k8sRunLauncher and retention, and ignores an unknown member elsewhere, so none may be there either.
RULES = one(
    **{
        "global": one(dagsterHome=TEXT, postgresqlSecretName=TEXT),
        "generatePostgresqlPasswordSecret": YES_OR_NO,
        "generateCeleryConfigSecret": YES_OR_NO,
        "postgresql": one(
            enabled=YES_OR_NO,
            postgresqlScheme=TEXT,
            postgresqlHost=TEXT,
            postgresqlDatabase=TEXT,
            postgresqlUsername=TEXT,
            service=one(port=PORT),
        ),
        "dagster-user-deployments": one(
            enabled=YES_OR_NO,
            enableSubchart=YES_OR_NO,
            deployments={
                "type": "array",
                "minItems": 1,
                "items": one(
                    # The name is also the name of the service, a label of DNS.
                    name={"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
                    image=IMAGE,
                    dagsterApiGrpcArgs={"type": "array", "items": TEXT},
                    port=PORT,
                    env={"type": "object", "additionalProperties": {"type": "string"}},
                    envSecrets={"type": "array", "items": one(name=TEXT)},
                ),
            },
        ),
        "dagsterWebserver": one(image=IMAGE),
        "dagsterDaemon": one(
            image=IMAGE,
            runCoordinator=one(enabled=YES_OR_NO, type={"enum": ["QueuedRunCoordinator", "CustomRunCoordinator"]}),
            runMonitoring=one(enabled=YES_OR_NO),
        ),
        "runLauncher": one(
            type=only("K8sRunLauncher"),
            config=one(k8sRunLauncher=one(resources=one(requests=one(cpu=QUANTITY, memory=QUANTITY)))),
        ),
        "telemetry": one(enabled=YES_OR_NO),
        "retention": one(enabled=YES_OR_NO),
        "additionalInstanceConfig": {"type": "object", "required": ["concurrency", "run_monitoring", "retention"]},
    }
)
WRONG: list[tuple[str, Any]] = [
    ("global.dagsterHome", None),
    ("global.home", "/opt"),
    ("generateCeleryConfigSecret", "false"),
    ("postgresql.service.port", "5432"),
    ("postgresql.postgresqlHost", 5),
    ("postgresql.port", 5432),
    ("dagster-user-deployments.deployments.0.name", "Paimon_Lake"),
    ("dagster-user-deployments.deployments.0.port", "4000"),
    ("dagster-user-deployments.deployments.0.env", {"PAIMON_WORKERS": 2}),
    ("dagster-user-deployments.deployments.0.envSecrets", ["lake-store"]),
    ("dagster-user-deployments.deployments.0.dagsterApiGrpcArgs", "-m paimon_dagster.definitions"),
    ("dagsterWebserver.image.pullPolicy", "Sometimes"),
    ("dagsterWebserver.images", {}),
    ("dagsterDaemon.image.tag", 1.5),
    ("dagsterDaemon.runCoordinator.type", "Queued"),
    ("runLauncher.config.k8sRunLauncher.resources.requests.cpu", 2),
    ("runLauncher.config.k8sRunLauncher.resources.requests.memory", "4 GB"),
    ("runLauncher.config.k8sRunLauncher.resource", {}),
    ("runLauncher.type", "K8SRunLauncher"),
    ("retention.enabled", "no"),
    ("dagit", {}),
]


@pytest.fixture
def values() -> Any:
    return yaml.safe_load((DEPLOY / "helm-values.yaml").read_text())


def errors(values: Any) -> list[str]:
    return [f"{found.json_path}: {found.message}" for found in Draft202012Validator(RULES).iter_errors(values)]


def test_the_values_fit_the_rules_of_the_chart(values: Any) -> None:
    Draft202012Validator.check_schema(RULES)
    assert errors(values) == []


@pytest.mark.parametrize(("place", "value"), WRONG, ids=[place for place, _ in WRONG])
def test_wrong_values_break_a_rule(values: Any, place: str, value: Any) -> None:
    wrong = json.loads(json.dumps(values))  # three images are one object of YAML
    *parents, name = place.split(".")
    inside = wrong
    for parent in parents:
        inside = inside[int(parent) if parent.isdigit() else parent]
    inside[name] = value
    assert len(errors(wrong)) == 1


def test_the_values_agree_with_the_other_files_of_deploy(values: Any) -> None:
    instance = yaml.safe_load((DEPLOY / "dagster.yaml").read_text())
    same = values["additionalInstanceConfig"]
    assert same == {name: instance[name] for name in same}
    scheme = instance["storage"]["postgres"]["postgres_db"]["scheme"]
    assert values["postgresql"]["postgresqlScheme"] == scheme
    (deployment,) = values["dagster-user-deployments"]["deployments"]
    (location,) = yaml.safe_load((DEPLOY / "workspace.yaml").read_text())["load_from"]
    server_of_lake = location["grpc_server"]
    assert (deployment["name"], deployment["port"]) == (server_of_lake["location_name"], server_of_lake["port"])
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert json.dumps(deployment["dagsterApiGrpcArgs"])[1:-1] in dockerfile
    assert f"DAGSTER_HOME={values['global']['dagsterHome']}\n" in dockerfile
    (version,) = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("dagster==")]
    assert f"--version {version.removeprefix('dagster==')} " in (DEPLOY / "helm-values.yaml").read_text()


def test_the_values_hold_no_secret(values: Any) -> None:
    assert values["generatePostgresqlPasswordSecret"] is False
    (deployment,) = values["dagster-user-deployments"]["deployments"]
    assert set(deployment["env"]) == {"PAIMON_ENV"}

    def names(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from value
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from names(inner)

    secret = [name for name in names(values) if any(word in name.lower() for word in ("password", "secret", "key"))]
    assert sorted(secret) == [
        "envSecrets",
        "generateCeleryConfigSecret",
        "generatePostgresqlPasswordSecret",
        "postgresqlSecretName",
    ]
