"""What workers share about judges: one client of Redis, and keys in which no account meets another."""

from __future__ import annotations

import hashlib
from functools import cache

import redis
from redis.commands.core import Script

from evalsvc.judges.facts import ConnectionFacts
from evalsvc.rest.redis_client import make_client


@cache
def book() -> redis.Redis:
    """Return the client; calls may raise RedisError."""
    return make_client(timeout=1.0)


@cache
def script(text: str) -> Script:
    """Return a Lua script, registered once."""
    return book().register_script(text)


def key_of(connection: ConnectionFacts, model: str, what: str) -> str:
    """Return the key of something about a connection's model.

    Account, connection and its epoch are in it: what was learned of a connection ends with any change of it. The name
    of a model is a stranger's text, hence its digest; the braces keep a connection's keys in one slot of a cluster.
    """
    of_model = hashlib.blake2b(model.encode(errors="replace"), digest_size=12).hexdigest()
    return f"judge:{{{connection.account_id}:{connection.id.hex}}}:{of_model}:{what}:{connection.epoch}"
