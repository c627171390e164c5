"""Run the service: health, metrics, commands, and what gunicorn and beat need of it."""
