"""The WSGI application that gunicorn serves."""

import os

from django.core.wsgi import get_wsgi_application

# Whoever tells workers of work in this process does it by this application. Without it Celery would make up one, whose
# broker is not ours, and each message would wait for the sweep.
from evalsvc.celery import app as celery_app

__all__ = ["application", "celery_app"]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
application = get_wsgi_application()
