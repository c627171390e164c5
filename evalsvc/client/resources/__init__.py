"""The service's nouns, one object each: `client.datasets`, `client.profiles`, `client.connections` and so on."""
