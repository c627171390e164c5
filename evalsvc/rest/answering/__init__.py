"""Answers out: their shapes, pages, forms and what OpenAPI says of them."""
