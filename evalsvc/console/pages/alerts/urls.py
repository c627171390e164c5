"""Addresses of alarms and monitors."""

from django.urls import path

from evalsvc.console.pages.alerts import acts, creation, lists, page

urlpatterns = [
    path("alerts", lists.alerts_page, name="console_alerts"),
    path("alerts/all", lists.alarms_page, name="console_alarms"),
    path("alerts/new", creation.new_alert, name="console_alert_new"),
    path("alerts/<id:id>", page.alarm_page, name="console_alarm"),
    path("alerts/<id:id>/acknowledge", acts.acknowledge, name="console_alarm_acknowledge"),
    path("alerts/<id:id>/resolve", acts.resolve, name="console_alarm_resolve"),
    path("alerts/monitors/<id:id>/switch", acts.switch_monitor, name="console_monitor_switch"),
    path("alerts/monitors/<id:id>/baseline", acts.replace_baseline, name="console_monitor_baseline"),
]
