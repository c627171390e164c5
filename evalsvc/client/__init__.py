"""A small client for users' own code: httpx only, nothing of the server."""
