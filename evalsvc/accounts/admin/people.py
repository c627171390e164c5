"""Admin pages of accounts, users and members, for operators only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from evalsvc.accounts.admin.base import ScopedAdmin, get_actor
from evalsvc.accounts.models import Account, Member, User
from evalsvc.accounts.services import (
    add_member,
    change_account,
    change_refusal,
    change_retention,
    create_account,
    remove_member,
)

admin.site.unregister(Group)  # roles are memberships; Django's groups would be a second, silent kind
for model in [
    registered_model for registered_model in admin.site._registry if registered_model.__module__.startswith("allauth.")
]:
    admin.site.unregister(model)  # the library's own pages would show secrets, and change them unseen


@admin.register(Account)
class AccountAdmin(ScopedAdmin):
    """Tenants, their limits and their retention."""

    may_add = may_change = True
    list_display = ("name", "id", "rpm_limit", "monthly_limit", "off_at", "created_at")
    fields = ("name", "rpm_limit", "monthly_limit", "retention_days", "retention_history_days", "refuse_unrunnable")
    ordering = ("name",)
    search_fields = ("name", "=id")

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        """Make an account, or change its name and limits."""
        actor = get_actor(request)
        if not change:
            obj.pk = create_account(name=obj.name, actor=actor).pk
        if change or obj.rpm_limit is not None or obj.monthly_limit is not None:
            change_account(
                account=obj, name=obj.name, rpm_limit=obj.rpm_limit, monthly_limit=obj.monthly_limit, actor=actor
            )
        if {"retention_days", "retention_history_days"} & set(form.changed_data):
            change_retention(
                account=obj,
                retention_days=obj.retention_days,
                retention_history_days=obj.retention_history_days,
                actor=actor,
            )
        if "refuse_unrunnable" in form.changed_data:
            change_refusal(account=obj, refuse_unrunnable=obj.refuse_unrunnable, actor=actor)


class NewUserForm(UserCreationForm):
    """A person by e-mail; without a password they cannot sign in."""

    class Meta:
        model = User
        fields = ("email", "name")

    def clean_email(self) -> str:
        """Store addresses in one spelling, as sign-in looks them up."""
        return str(self.cleaned_data["email"]).lower()


class UserForm(UserChangeForm):
    """A person's e-mail, name and switches."""

    class Meta:
        model = User
        fields = ("email", "name", "is_active", "is_staff", "is_superuser")

    def clean_email(self) -> str:
        """Store addresses in one spelling, as sign-in looks them up."""
        return str(self.cleaned_data["email"]).lower()


@admin.register(User)
class UserAdmin(ScopedAdmin, DjangoUserAdmin):  # type: ignore[type-arg]
    """People. What they may see follows from their memberships."""

    may_add = may_change = True
    form = UserForm
    add_form = NewUserForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("email", "name", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter = ()
    filter_horizontal = ()
    ordering = ("email",)
    search_fields = ("email", "name")
    readonly_fields = ("last_login", "created_at")
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        ("May do", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("Times", {"fields": ("last_login", "created_at")}),
    )
    add_fieldsets = (
        (None, {"fields": ("email", "name", "usable_password", "password1", "password2", "is_staff", "is_superuser")}),
    )

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save the validated person, without an audit entry: a person does not belong to an account."""
        obj.save()


@admin.register(Member)
class MemberAdmin(ScopedAdmin):
    """Who belongs to which account, as what."""

    may_add = may_change = True
    list_display = ("user", "account", "role", "created_at")
    list_select_related = ("user", "account")
    fields = ("account", "user", "role")
    ordering = ("account__name", "id")
    search_fields = ("user__email", "account__name")

    def get_autocomplete_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Let operators search for both."""
        return ("account", "user")

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> tuple[object, ...]:
        """Change the role only: another person or account is another membership."""
        return ("account", "user") if obj is not None else ()

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Let operators take people out of an account; what they did stays in the audit trail."""
        return self.has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Member, form: Any, change: bool) -> None:
        """Let a person in, or change their role."""
        member = add_member(account=obj.account, user=obj.user, role=Member.Role(obj.role), actor=get_actor(request))
        obj.pk = member.pk

    def delete_model(self, request: HttpRequest, obj: Member) -> None:
        """Take a person out."""
        remove_member(account=obj.account, member=obj, actor=get_actor(request))
