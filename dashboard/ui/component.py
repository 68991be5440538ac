"""Dash components of our own: a class in Python, a function of the same name in assets/headscape.mjs.

Dash has no public way to declare a component without a build step: what it reads of a class is private, and stands here alone.
"""

from typing import Any

from dash.development.base_component import Component, ComponentMeta


class BrowserComponentMeta(ComponentMeta):
    """Adds to a class what Dash reads of it, from its `properties`."""

    def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> Any:
        """The class, with the attributes that Dash expects a generated class to have."""
        names = list(attributes.get("properties", ()))
        private = {
            "_namespace": "headscape",
            "_type": name,
            "_base_nodes": ["children"],
            "_children_props": [],
            "_prop_names": names,
            "_valid_wildcard_attributes": [],
            "available_properties": names,
            "available_wildcard_properties": [],
        }
        return super().__new__(cls, name, bases, private | attributes)


class BrowserComponent(Component, metaclass=BrowserComponentMeta):
    """A component whose JavaScript is `window.headscape.NAME`. None stands for a property that is not given."""

    properties: tuple[str, ...] = ()

    def __init__(self, **properties: Any) -> None:
        super().__init__(**{name: value for name, value in properties.items() if value is not None})
