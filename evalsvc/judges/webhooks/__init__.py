"""Signed requests to an account's own server, and the secret that signs them."""
