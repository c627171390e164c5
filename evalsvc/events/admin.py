"""Admin pages of endpoints and deliveries: read only, but for sending again."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action, display

from evalsvc.accounts.admin.base import EDITOR, READER, BigTablePaginator, ScopedAdmin, get_actor, has_role
from evalsvc.events.models import EventDelivery, EventEndpoint
from evalsvc.events.services import replay_delivery


@admin.register(EventEndpoint)
class EventEndpointAdmin(ScopedAdmin):
    """Servers that hear of events. Programs make and change them, as the secret is shown once."""

    view_role = READER
    list_display = ("url", "types", "per_hour", "is_enabled", "created_at")
    list_select_related = ("account",)
    ordering = ("created_at", "id")
    sortable_by = ("created_at",)
    search_fields = ("url", "id__iexact")
    search_help_text = "URL or whole id"
    fields = readonly_fields = (
        *("url", "types", "rules", "per_hour", "is_enabled", "last4"),
        *("previous_until", "id", "created_at", "revised_at"),
    )

    @admin.display(description="Events")
    def types(self, row: EventEndpoint) -> str:
        """Return what it has subscribed to."""
        return ", ".join(row.event_types)


@admin.register(EventDelivery)
class EventDeliveryAdmin(ScopedAdmin):
    """Event deliveries and their outcomes."""

    view_role, write_role = READER, EDITOR
    paginator = BigTablePaginator
    list_display = ("id", "event_type", "endpoint", "state", "n_attempts", "last_status", "created_at")
    list_select_related = ("account", "event", "endpoint")
    ordering = ("-id",)
    sortable_by = ()
    search_fields = ("event__id__exact",)
    search_help_text = "Whole id of the event"
    fields = readonly_fields = (
        *("id", "event", "event_type", "endpoint", "state", "n_attempts"),
        *("last_status", "last_error", "next_at", "created_at", "finished_at"),
    )
    actions_detail = ("replay",)

    @admin.display(description="Type")
    def event_type(self, row: EventDelivery) -> str:
        """Return what it tells of."""
        return row.event.type

    @display(description="State", label={"pending": "info", "delivered": "success", "failed": "danger"})
    def state(self, row: EventDelivery) -> str:
        return row.status

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[UnfoldAction]:
        """Offer the button to those who may write."""
        return super().get_actions_detail(request, object_id) if has_role(request, self.write_role) else []

    @action(description="Send again", url_path="replay", icon="replay")
    def replay(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send it again after a confirmation."""
        delivery = self.writable(request, object_id)

        def verb() -> str:
            account = self.account_of(request, delivery)
            replay_delivery(account=account, delivery=delivery, now=timezone.now(), actor=get_actor(request))
            return f"{delivery.event_id} is sent again."

        return self.confirm_change(
            request,
            delivery,
            title=f"Send {delivery.event_id} again?",
            detail="The receiver gets the same event with the same id.",
            button="Send",
            verb=verb,
        )
