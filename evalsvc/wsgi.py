"""The WSGI application that gunicorn serves."""

import os

from django.core.wsgi import get_wsgi_application

# Tasks sent from this process use this application. Without it Celery would create a default one with another broker,
# and each message would wait for the sweep.
from evalsvc.celery import app as celery_app

__all__ = ["application", "celery_app"]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
application = get_wsgi_application()
