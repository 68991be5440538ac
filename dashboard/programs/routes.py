"""The tools over HTTP: `GET /api/1/TOOL?...` answers in JSON, `GET /api/1/openapi.json` describes all tools (OpenAPI 3.1)."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, getdoc, signature
from typing import Any, get_type_hints

from flask import Flask, Response, request
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from dashboard.programs.tools import StoreTools, tool_names
from dashboard.web.errors import Refusal
from dashboard.web.paths import root
from dashboard.web.served_store import ServedStore

#: Version of the questions and of their answers. Raise it at any change of them except a new field.
VERSION = 1
BASE = f"/api/{VERSION}"
#: Reference to the schema of an answer within the description.
SCHEMAS = "#/components/schemas/{model}"
TEXT = {"text/plain": {"schema": {"type": "string"}}}


@dataclass(frozen=True)
class Question:
    """A tool as a route: its name, its explanation, its checked fields, and the type of its answer."""

    name: str
    explanation: str
    fields: type[BaseModel]
    answer: TypeAdapter[Any]


def question_of(name: str) -> Question:
    """The route of a tool, from the signature and the docstring of the method."""
    method = getattr(StoreTools, name)
    types = get_type_hints(method, include_extras=True)
    given = {
        parameter.name: (types[parameter.name], ... if parameter.default is Parameter.empty else parameter.default)
        for parameter in list(signature(method).parameters.values())[1:]
    }
    fields: Any = create_model(name, __config__=ConfigDict(extra="forbid"), **given)  # type: ignore[call-overload]
    return Question(name, getdoc(method) or "", fields, TypeAdapter(types["return"]))


#: Every tool except `link_to_view`: a program with addresses needs no route for a link.
QUESTIONS = {name: question_of(name) for name in tool_names() if name != "link_to_view"}


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""
    tools = StoreTools(served_store)

    @server.get(f"{BASE}/openapi.json")
    def described() -> Response:
        return Response(json.dumps(description(), ensure_ascii=False), mimetype="application/json")

    @server.get(f"{BASE}/<any({', '.join(QUESTIONS)}):name>")
    def answered(name: str) -> Response:
        question = QUESTIONS[name]
        asked = checked(question)
        answer: Callable[..., object] = getattr(tools, name)
        return Response(question.answer.dump_json(answer(**asked)), mimetype="application/json")

    @server.get("/api", defaults={"other": ""})
    @server.get("/api/<path:other>")
    def unknown(other: str) -> Response:
        other = other.removeprefix(f"{VERSION}/")
        raise Refusal(f"There is no question {other[:80]!r}. {BASE}/openapi.json lists all.", 404)


def checked(question: Question) -> dict[str, Any]:
    """The fields in the address of the request. A `Refusal` names the first wrong field."""
    try:
        return question.fields.model_validate(request.args.to_dict()).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        field, problem = ".".join(map(str, first["loc"])), first["msg"]
        raise Refusal(f"{field[:80]}: {problem}. {BASE}/openapi.json describes every field.", 400) from error


def description() -> dict[str, Any]:
    """The description of all routes by OpenAPI 3.1."""
    adapters = [(name, "serialization", question.answer) for name, question in QUESTIONS.items()]
    answers, shared = TypeAdapter.json_schemas(adapters, ref_template=SCHEMAS)  # type: ignore[arg-type]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headscape",
            "version": str(VERSION),
            "description": "What every attention head of an encoder does over a whole corpus: read-only questions to a store.",
        },
        "servers": [{"url": root() or "/"}],
        "paths": {
            f"{BASE}/{name}": {"get": _operation(question, answers[name, "serialization"])}
            for name, question in QUESTIONS.items()
        },
        "components": {"schemas": shared.get("$defs", {})},
    }


def _operation(question: Question, answer: dict[str, Any]) -> dict[str, Any]:
    schema = question.fields.model_json_schema(ref_template=SCHEMAS)
    parameters = [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "description": field.get("description", ""),
            "schema": {key: value for key, value in field.items() if key not in ("description", "title")},
        }
        for name, field in schema.get("properties", {}).items()
    ]
    refused = {"400": "A field is missing or wrong", "404": "What is asked for is not in the store", "503": "Try again"}
    return {
        "operationId": question.name,
        "summary": question.explanation.partition(":")[0],
        "description": question.explanation,
        "parameters": parameters,
        "responses": {
            "200": {"description": "The answer", "content": {"application/json": {"schema": answer}}},
            **{status: {"description": why, "content": TEXT} for status, why in refused.items()},
        },
    }
