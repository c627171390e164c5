"""Drills: lose a database on purpose, bring it back, and count what was lost. See docs/deploy/drills.md.

Each is a program of its own, with servers of its own: `python -m deploy.drills.restore`, `.point_in_time`, `.failover`.
"""
