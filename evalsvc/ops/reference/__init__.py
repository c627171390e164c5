"""The OpenAPI document, and the pages on which people read it."""
