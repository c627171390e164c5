"""Admin pages of annotation criteria: make, change, delete. Labels are stored as evaluations, and shown there."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from unfold.decorators import action
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminTextareaWidget

from evalsvc.accounts.admin.base import (
    CODE_CLASS,
    EDITOR,
    READER,
    ScopedAdmin,
    ServiceForm,
    get_actor,
    has_role,
    is_operator,
)
from evalsvc.accounts.membership import CURRENT
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.services import CriteriaFields, archive_criteria, create_criteria, revise_criteria
from evalsvc.annotations.values import read_categories
from evalsvc.catalog.admin.profiles import SettingsField
from evalsvc.rest.problems import Invalid

LIST_ADDRESS = "admin:annotations_annotationcriteria_changelist"
FIELDS = ("project", "name", "annotation_type", "categories", "description")


class CategoriesField(SettingsField):
    """Categories as JSON text; empty for the types that have none."""

    def prepare_value(self, value: object) -> str:
        """Return the text to edit: empty instead of `null` without categories."""
        return "" if value is None else super().prepare_value(value)

    def to_python(self, value: object) -> Any:
        """Return the list of categories, or None for an empty field. Raises ValidationError."""
        categories = super().to_python(value) or None
        try:
            read_categories(categories)
        except Invalid as problem:
            raise forms.ValidationError(problem.detail) from None
        return categories


class CriteriaForm(ServiceForm):
    """New annotation criteria, or a change of them."""

    fields_of_pointers: ClassVar[dict[str, str]] = {"project_id": "project"}

    categories = CategoriesField(
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 6, "cols": 20, "class": CODE_CLASS, "spellcheck": "false"}),
        help_text='JSON, as [{"label": "good", "score": 1}, {"label": "bad", "score": 0}]. '
        "Only for one of some numbers or labels.",
    )
    description = forms.CharField(
        required=False,
        max_length=10_000,
        widget=UnfoldAdminTextareaWidget({"rows": 3, "cols": 20}),
        help_text="What the people who answer should know.",
    )

    class Meta:
        model = AnnotationCriteria
        fields = FIELDS

    def build_fields(self) -> CriteriaFields:
        """Return the typed values as the services take them."""
        typed = self.cleaned_data
        return CriteriaFields(
            name=typed["name"],
            annotation_type=typed["annotation_type"],
            description=typed["description"] or None,
            categories=read_categories(typed["categories"]),
            # Not typed here: it stays as a call has set it.
            resource_types=self.instance.resource_types,
        )


@admin.register(AnnotationCriteria)
class AnnotationCriteriaAdmin(ScopedAdmin):
    """The questions that people answer about logs."""

    view_role, write_role = READER, EDITOR
    may_add = may_change = True
    form = CriteriaForm
    fields = FIELDS
    list_display = ("name", "annotation_type", "project", "created_at", "updated_at")
    list_select_related = ("account", "project")
    ordering = ("-created_at", "id")
    sortable_by = ("name", "created_at", "updated_at")
    search_fields = ("name", "id__iexact")
    search_help_text = "Name or whole id"
    actions_detail = ("delete_it",)

    def get_fields(self, request: HttpRequest, obj: object = None) -> list[Any]:
        """Show also the id, which calls of the API send, and the times of creation and change."""
        fields = super().get_fields(request, obj)
        return fields if obj is None else [*fields, "id", "created_at", "updated_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> tuple[object, ...]:
        """Fix the project: labels are filed under it."""
        fixed_fields = () if obj is None else ("project", "id", "created_at", "updated_at")
        return (*super().get_readonly_fields(request, obj), *fixed_fields)

    def get_autocomplete_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Let operators search for the project, as they see those of all accounts."""
        fields = super().get_autocomplete_fields(request)
        return (*fields, "project") if is_operator(request) else fields

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> object:
        """Offer members the projects of their account."""
        membership = CURRENT.get()
        if db_field.name == "project" and membership is not None:
            rows = db_field.remote_field.model.objects.filter(account_id=membership.account_id)
            kwargs["queryset"] = rows.order_by("name")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: AnnotationCriteria, form: Any, change: bool) -> None:
        """Make or change the criteria."""
        account, actor = self.account_of(request, obj), get_actor(request)
        if not change:
            criteria = create_criteria(
                account=account, project_id=obj.project_id, fields=form.build_fields(), actor=actor
            )
            # Django's admin redirects to `obj` and logs it, so it needs the id that the service gave.
            obj.pk = criteria.pk
        elif form.has_changed():
            revise_criteria(account=account, criteria=obj, fields=form.build_fields(), actor=actor)

    def get_actions_detail(self, request: HttpRequest, object_id: object) -> list[object]:
        """Offer the button to those who may write."""
        return super().get_actions_detail(request, object_id) if has_role(request, self.write_role) else []

    @action(description="Delete", url_path="forget", icon="delete", variant=ActionVariant.DANGER)
    def delete_it(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the criteria out of use after a confirmation."""
        criteria = self.writable(request, object_id)

        def delete() -> str:
            account = self.account_of(request, criteria)
            archive_criteria(account=account, criteria=criteria, now=timezone.now(), actor=get_actor(request))
            return f"The annotation criteria {criteria.name} are deleted."

        answer = self.confirm_change(
            request,
            criteria,
            title=f"Delete the annotation criteria {criteria.name}?",
            detail="Nobody can annotate by them any more. Labels that were given stay, and so does their history.",
            button="Delete",
            verb=delete,
        )
        return redirect(LIST_ADDRESS) if request.method == "POST" else answer
