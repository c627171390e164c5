"""The addresses of rules."""

from django.urls import path

from evalsvc.console.pages.rules import acts, form, lists, page

urlpatterns = [
    path("rules", lists.rules_page, name="console_rules"),
    path("rules/new", form.new_rule, name="console_rule_new"),
    path("rules/<id:id>", page.rule_page, name="console_rule"),
    path("rules/<id:id>/edit", form.edit_rule, name="console_rule_edit"),
    path("rules/<id:id>/switch", acts.switch_rule, name="console_rule_switch"),
    path("rules/<id:id>/delete", acts.remove_rule, name="console_rule_delete"),
]
