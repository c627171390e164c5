"""A profile being made or revised: what was typed, as a form or as JSON, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import QueryDict

from evalsvc.console.pages.profiles.reader import read_settings_form
from evalsvc.console.pages.profiles.schema_form import SettingsForm, settings_form
from evalsvc.console.parts.forms.json_fields import UnreadableJson, format_json, read_json
from evalsvc.rest.problems import Invalid, NotFound
from evaluators.base import Family
from evaluators.registry import UnknownFamily, families, get_family

CONFIG = "/config"


@dataclass(frozen=True, slots=True)
class Draft:
    """The current state of the profile form."""

    family: Family
    name: str = ""
    description: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    as_json: bool = False
    json_text: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    """By pointer: `/name`, `/config/pass_threshold`."""
    adds: str = ""

    @property
    def form(self) -> SettingsForm:
        """Return the fields of the settings with their errors."""
        errors = {at.removeprefix(CONFIG): message for at, message in self.errors.items() if at.startswith(CONFIG)}
        return settings_form(self.family.settings_schema, self.settings, errors, adds=self.adds)

    @property
    def json_errors(self) -> list[str]:
        """Return what is wrong with the settings, each with where it is."""
        errors = {at.removeprefix(CONFIG): message for at, message in self.errors.items() if at.startswith(CONFIG)}
        return [f"{at}: {message}" if at else message for at, message in errors.items()]

    @property
    def name_error(self) -> str:
        """Return what is wrong with the name."""
        return self.errors.get("/name", "")

    @property
    def other_errors(self) -> list[str]:
        """Return what belongs to no field."""
        return [message for at, message in self.errors.items() if at != "/name" and not at.startswith(CONFIG)]


def profile_families() -> list[Family]:
    """Return the families that take profiles of one's own."""
    return [family for family in families() if family.accepts_own_profiles]


def find_family(name: str) -> Family:
    """Return a family that takes profiles of one's own; NotFound for others."""
    try:
        family = get_family(name)
    except UnknownFamily:
        raise NotFound from None
    if not family.accepts_own_profiles:
        raise NotFound
    return family


def new_draft(family: Family, settings: Mapping[str, Any], *, name: str = "", description: str = "") -> Draft:
    """Return the form as it begins."""
    return Draft(family, name, description, settings, json_text=format_json(settings))


def read_draft(family: Family, sent: QueryDict) -> Draft:
    """Read the submitted form. JSON that cannot be parsed becomes an error of the draft."""
    draft = Draft(family, sent.get("name", "").strip(), sent.get("description", ""), adds=sent.get("add", ""))
    if sent.get("as") != "json":
        settings = read_settings_form(family.settings_schema, sent)
        return replace(draft, settings=settings, json_text=format_json(settings), as_json=sent.get("show") == "json")
    text = sent.get("json", "")
    draft = replace(draft, as_json=sent.get("show") != "form", json_text=text)
    try:
        values = read_json(text or "{}")
    except UnreadableJson as exc:
        return replace(draft, as_json=True, errors={CONFIG: str(exc)})
    if not isinstance(values, dict):
        return replace(draft, as_json=True, errors={CONFIG: 'Enter a JSON object, such as {"pass_threshold": 0.7}.'})
    return replace(draft, settings=values)


def is_saving(sent: QueryDict) -> bool:
    """Return whether the form is to be saved; else a row is added or taken away, or it is shown in another way."""
    return not any(sent.get(name) for name in ("add", "remove", "show"))


def add_errors(draft: Draft, problem: Invalid) -> Draft:
    """Return the form with what the service has refused."""
    errors: dict[str, str] = {}
    for error in problem.errors:
        errors.setdefault(error.pointer, error.detail)
    return replace(draft, errors=errors)
