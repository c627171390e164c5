"""One connection of gunicorn's: how its requests are heard, refused and left."""
