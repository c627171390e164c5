"""How gunicorn serves here: its worker, and how requests of a connection are heard, refused and left."""
