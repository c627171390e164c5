"""The addresses of monitors and alarms."""

from django.urls import path

from evalsvc.monitors.api.alarms import AcknowledgeAlarmView, AlarmsView, AlarmView, ResolveAlarmView
from evalsvc.monitors.api.monitors import MonitorsView, MonitorView, PreviewMonitorView

urlpatterns = [
    path("v1/monitors", MonitorsView.as_view()),
    path("v1/monitors/preview", PreviewMonitorView.as_view()),
    path("v1/monitors/<id:id>", MonitorView.as_view()),
    path("v1/alarms", AlarmsView.as_view()),
    path("v1/alarms/<id:id>", AlarmView.as_view()),
    path("v1/alarms/<id:id>/acknowledge", AcknowledgeAlarmView.as_view()),
    path("v1/alarms/<id:id>/resolve", ResolveAlarmView.as_view()),
]
