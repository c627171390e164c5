"""Responses: their shapes, pages, forms and OpenAPI descriptions."""
