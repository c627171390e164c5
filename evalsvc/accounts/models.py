"""Tables: User, Account, Member, Invitation, ApiKey, AuditEntry."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from evalsvc.tenancy.scope import NextId


class UserManager(BaseUserManager["User"]):
    """Makes and finds users by their e-mail address."""

    def create_user(self, email: str, password: str | None = None, **fields: object) -> User:
        """Make a person who may sign in to the pages of the accounts they are a member of."""
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> User:
        """Make an operator."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> User:
        """Find by e-mail address, whatever its case."""
        return self.get(email=(username or "").lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person. What they may see follows from their memberships; an operator (superuser) sees all."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=100, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False, help_text="May sign in to the admin pages.")
    created_at = models.DateTimeField(db_default=Now())

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        constraints = (models.UniqueConstraint(Lower("email"), name="uq_user_email_lower"),)

    def __str__(self) -> str:
        return self.email

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """Return whether this is an operator. Nobody has Django's permissions: roles are memberships."""
        return self.is_active and self.is_superuser

    def has_module_perms(self, app_label: str) -> bool:
        """Return whether this is an operator."""
        return self.is_active and self.is_superuser


class Account(models.Model):
    """A tenant."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    name = models.CharField(max_length=100, unique=True)
    rpm_limit = models.PositiveIntegerField(null=True, blank=True, help_text="Requests a minute; empty: the default.")
    monthly_limit = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Requests a month; empty: the default."
    )
    retention_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Days that texts and evaluations are kept; 0: for ever; empty: the default."
    )
    retention_history_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Days that the scores of histories are kept; 0: for ever; empty: the default."
    )
    refuse_unrunnable = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Answer 422 where an evaluator cannot run, rather than a result that is null.",
    )
    require_second_factor = models.BooleanField(
        default=False, db_default=False, help_text="Show the account's pages to members who have a second factor."
    )
    created_at = models.DateTimeField(db_default=Now())
    off_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="Since when nobody may use it.")
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="Since when its rows are going.")

    def __str__(self) -> str:
        return self.name


class AccountDeletion(models.Model):
    """A record that an account was deleted, and when. It does not reveal the owner or the contents."""

    id = models.BigIntegerField(primary_key=True, help_text="Of the account that was.")
    ordered_by = models.CharField(max_length=10, help_text="`operator`, or `admin`: one of the account's own.")
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(db_default=Now())
    scrubbed_at = models.DateTimeField(null=True, help_text="Since when no file of the servers holds what it had.")

    def __str__(self) -> str:
        return str(self.id)


class TenantModel(models.Model):
    """A row that belongs to an account, in a table with few rows: people make them."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE)

    class Meta:
        abstract = True


class TenantRow(models.Model):
    """A row that belongs to an account, in a very large table.

    The foreign key is without a constraint, because its trigger would run for each row. Row-level security checks the
    account instead, and `verify` counts rows without an account. An index on the account alone would not be used by any
    query.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)

    class Meta:
        abstract = True


class Member(TenantModel):
    """A person in an account, with a role."""

    class Role(models.TextChoices):
        ADMIN = "admin", "Admin: everything, keys and members included"
        EDITOR = "editor", "Editor: evaluators and profiles"
        READER = "reader", "Reader: looks on"

    user = models.ForeignKey(User, on_delete=models.CASCADE)
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.READER)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(fields=["account", "user"], name="uq_member_once_per_account"),)

    def __str__(self) -> str:
        return f"{self.user} in {self.account}"


class Invitation(TenantModel):
    """A link that lets one person in, once, for a time. Only an HMAC of its secret is stored."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Member.Role.choices)
    public = models.CharField(max_length=24, unique=True, editable=False)
    secret_hash = models.BinaryField(max_length=32, editable=False)
    invited_by = models.CharField(max_length=120)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["account", "-id"], name="ix_invitation_account"),)
        constraints = (
            models.UniqueConstraint(
                fields=["account", "email"],
                condition=Q(accepted_at=None, withdrawn_at=None),
                name="uq_invitation_open_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.email} into {self.account}"


class ApiKey(TenantModel):
    """A secret that speaks for an account: `ek_<public>.<secret>`; only an HMAC of the secret is stored."""

    class Scope(models.TextChoices):
        READ = "read", "Read"
        WRITE = "write", "Read and write"

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    name = models.CharField(max_length=100)
    public = models.CharField(max_length=24, unique=True, editable=False)
    secret_hash = models.BinaryField(max_length=32, editable=False)
    scope = models.CharField(max_length=5, choices=Scope.choices, default=Scope.WRITE)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    used_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="Last, to within 15 minutes.")
    issued_by = models.CharField(max_length=120, blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["account", "-id"], name="ix_api_key_account"),)

    def __str__(self) -> str:
        return f"{self.name} (ek_{self.public}.…)"

    def is_live(self, now: datetime) -> bool:
        """Return whether the key is valid at the time `now`."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)

    def state(self, now: datetime) -> str:
        """Return the key's state at the time `now`: live, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        return "live" if self.is_live(now) else "expired"


class AuditEntry(TenantModel):
    """Who did what to which object of an account, and when. Never changed, never deleted."""

    id = models.BigIntegerField(primary_key=True, db_default=NextId())
    actor = models.CharField(max_length=120, help_text="`key:<id>`, `user:<id>` or `system`.")
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=200)
    detail = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = (
            models.Index(fields=["account", "-id"], name="ix_audit_account"),
            models.Index(fields=["account", "actor"], name="ix_audit_actor"),
        )
        constraints = (models.CheckConstraint(condition=~Q(action=""), name="ck_audit_names_its_action"),)

    def __str__(self) -> str:
        return f"{self.action} {self.target}"
