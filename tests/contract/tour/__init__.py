"""One account that calls what the guides show no call of, so that the OpenAPI document has real examples of it."""
