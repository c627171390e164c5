"""What a score is: evaluator families in plain Python, usable with no server.

Nothing here imports Django, Celery, a database or an HTTP client; `evalsvc` imports this package, never the reverse.
"""
