"""Addresses of the account's own pages."""

from django.urls import path

from evalsvc.console.pages.account import audit, factor_rule, invitations, keys, limits, members, retention

urlpatterns = [
    path("keys", keys.keys_page, name="console_keys"),
    path("keys/new", keys.new_key_page, name="console_key_new"),
    path("keys/<id:id>", keys.key_page, name="console_key"),
    path("members", members.members_page, name="console_members"),
    path("members/invite", invitations.invite_page, name="console_invite"),
    path("members/second-factor", factor_rule.factor_rule_page, name="console_factor_rule"),
    path("members/withdraw", invitations.withdrawal_page, name="console_withdrawal"),
    path("members/<id:id>", members.member_page, name="console_member"),
    path("members/<id:id>/remove", members.removal_page, name="console_removal"),
    path("audit", audit.audit_page, name="console_audit"),
    path("audit.csv", audit.audit_csv, name="console_audit_csv"),
    path("limits", limits.limits_page, name="console_limits"),
    path("limits/retention", retention.retention_page, name="console_retention"),
    path("limits/refusal", limits.refusal_page, name="console_refusal"),
    path("limits/deletion", limits.deletion_page, name="console_account_deletion"),
]
personal = [path("invitations/<str:token>", invitations.invitation_page, name="console_invitation")]
