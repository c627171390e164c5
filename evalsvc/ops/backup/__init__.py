"""A backup of the database that proves itself, and the way back: `manage.py backup`, `manage.py restore`."""
