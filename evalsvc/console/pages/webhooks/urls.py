"""Addresses of event webhooks."""

from django.urls import path

from evalsvc.console.pages.webhooks import acts, form, lists, page

urlpatterns = [
    path("webhooks", lists.webhooks_page, name="console_webhooks"),
    path("webhooks/new", form.new_webhook, name="console_webhook_new"),
    path("webhooks/<uuid:id>", page.webhook_page, name="console_webhook"),
    path("webhooks/<uuid:id>/edit", form.edit_webhook, name="console_webhook_edit"),
    path("webhooks/<uuid:id>/rotate", acts.rotate_webhook, name="console_webhook_rotate"),
    path("webhooks/<uuid:id>/switch", acts.switch_webhook, name="console_webhook_switch"),
    path("webhooks/<uuid:id>/test", acts.test_webhook, name="console_webhook_test"),
    path("webhooks/<uuid:id>/again", acts.deliver_missing_again, name="console_webhook_again"),
    path("webhooks/<uuid:id>/delete", acts.delete_webhook, name="console_webhook_delete"),
    path("webhooks/deliveries/<id:id>", page.delivery_page, name="console_delivery"),
    path("webhooks/deliveries/<id:id>/again", acts.deliver_again, name="console_delivery_again"),
]
