"""The interface for programs over HTTP, used by a client that knows its description alone."""

from typing import Any

import pytest
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator

import store
from dashboard.app import create_app
from dashboard.programs.routes import BASE, QUESTIONS
from dashboard.programs.tools import StoreTools, tool_names
from dashboard.web.served_store import ServedStore

#: A valid value for each field of a question to the tiny store.
EXAMPLES: dict[str, Any] = {
    "layer": 1,
    "head": 0,
    "sentence": 3,
    "statistic": "entropy",
    "relation": "det",
    "role": "previous",
    "other": "second",
}


@pytest.fixture(scope="module")
def api(roles_store: str) -> FlaskClient:
    return create_app(ServedStore(roles_store)).server.test_client()


@pytest.fixture(scope="module")
def description(api: FlaskClient) -> dict[str, Any]:
    described: dict[str, Any] = api.get(f"{BASE}/openapi.json").json
    return described


def test_every_tool_but_the_link_is_described_with_its_fields(description: dict[str, Any]) -> None:
    assert [path.rpartition("/")[2] for path in description["paths"]] == [
        name for name in tool_names() if name != "link_to_view"
    ]
    fields = description["paths"][f"{BASE}/describe_head"]["get"]["parameters"]
    assert [(field["name"], field["in"], field["required"]) for field in fields] == [
        ("layer", "query", True),
        ("head", "query", True),
        ("model", "query", False),
    ]
    assert all(field["description"] for path in description["paths"].values() for field in path["get"]["parameters"])


@pytest.mark.parametrize(
    "name", [name for name in QUESTIONS if name not in ("compare_models", "what_arrives", "heads_with_role")]
)
def test_an_answer_is_as_it_is_described(api: FlaskClient, description: dict[str, Any], name: str) -> None:
    operation = description["paths"][f"{BASE}/{name}"]["get"]
    asked = {field["name"]: EXAMPLES[field["name"]] for field in operation["parameters"] if field["required"]}
    response = api.get(f"{BASE}/{name}", query_string=asked)
    assert response.status_code == 200, response.text
    described = operation["responses"]["200"]["content"]["application/json"]["schema"]
    Draft202012Validator({**described, "components": description["components"]}).validate(response.json)


def test_what_arrives_and_two_models_are_answered_too(
    tiny_store: str, three_client: FlaskClient, three_models: str
) -> None:
    api = create_app(ServedStore(tiny_store)).server.test_client()
    tokens = api.get(f"{BASE}/what_arrives?sentence=3&target=0").json["tokens"]
    assert sum(token["share"] for token in tokens) == pytest.approx(1, abs=1e-4)
    tools = StoreTools(ServedStore(three_models))
    other = next(name for name in store.open_snapshot(three_models).models if name.startswith("second"))
    (changed,) = three_client.get(f"{BASE}/compare_models?other={other}&count=1").json["changed"]
    (expected,) = tools.compare_models(other, count=1).changed
    assert (changed["head"], changed["divergence"]) == (expected.head, expected.divergence)


@pytest.mark.parametrize(
    ("link", "status", "sentence"),
    [
        ("describe_head?layer=1", 400, "head: Field required. /api/1/openapi.json describes every field."),
        ("describe_head?layer=1&head=x", 400, "head: Input should be a valid integer"),
        ("list_roles?modle=x", 400, "modle: Extra inputs are not permitted."),
        ("rank_heads?statistic=entropy&count=1000000", 400, "count: Input should be less than or equal to 200"),
        ("describe_head?layer=9&head=0", 404, "Choose one of L0 to L1 and H0 to H1."),
        ("rank_heads?statistic=fame", 404, "There is no 'fame'. Choose one of: to_cls"),
        ("forget_everything", 404, "There is no question 'forget_everything'. /api/1/openapi.json lists all."),
        ("", 404, "There is no question ''. /api/1/openapi.json lists all."),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(api: FlaskClient, link: str, status: int, sentence: str) -> None:
    response = api.get(f"{BASE}/{link}")
    assert response.status_code == status
    assert sentence in response.text


@pytest.mark.parametrize("address", ["/api", "/api/2/list_roles"])
def test_another_version_of_the_interface_is_not_there(api: FlaskClient, address: str) -> None:
    response = api.get(address)
    assert response.status_code == 404
    assert response.text.startswith("There is no question ")


def test_the_interface_only_reads(api: FlaskClient) -> None:
    assert {api.open(f"{BASE}/list_models", method=method).status_code for method in ("POST", "PUT", "DELETE")} == {405}
