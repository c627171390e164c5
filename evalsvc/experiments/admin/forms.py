"""The form that clones a config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from evalsvc.accounts.admin.base import CODE_CLASS
from evalsvc.catalog.admin.profiles import SettingsField
from evalsvc.experiments.models import Config
from evalsvc.rest.problems import Problem


class CloneForm(forms.Form):
    """A name, and the parameters as JSON: what differs from the config's own is the change."""

    name = forms.CharField(
        max_length=100,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text="Empty: the name of the config with a number.",
    )
    parameters = SettingsField(
        widget=UnfoldAdminTextareaWidget({"rows": 14, "cols": 20, "class": CODE_CLASS, "spellcheck": "false"}),
        help_text="JSON, as `parameters` in the API.",
    )

    def __init__(self, *args: Any, config: Config, **kwargs: Any) -> None:
        super().__init__(*args, initial={"parameters": config.parameters}, **kwargs)
        self.config = config

    def clean_parameters(self) -> dict[str, object]:
        """Accept an object only."""
        parameters = self.cleaned_data["parameters"]
        if not isinstance(parameters, dict):
            raise forms.ValidationError("Write a JSON object.")
        return parameters

    def changes(self) -> dict[str, Any]:
        """Return what differs; null for what was taken away."""
        old: Mapping[str, Any] = self.config.parameters
        new: Mapping[str, Any] = self.cleaned_data["parameters"]
        changed = {knob: value for knob, value in new.items() if knob not in old or old[knob] != value}
        return changed | {knob: None for knob in old if knob not in new}

    def show(self, problem: Problem) -> None:
        """Put what the service refused on the field that it is about."""
        for error in problem.errors:
            name = "name" if error.pointer.endswith("/name") else "parameters"
            rest = error.pointer.removeprefix("/changes").removeprefix("/")
            self.add_error(name, f"{rest}: {error.detail}" if rest and name == "parameters" else error.detail)
        if not problem.errors:
            self.add_error(None, problem.detail)
