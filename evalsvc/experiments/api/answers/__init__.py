"""The shapes of answers about experiments, as the OpenAPI document says them; tests hold every answer to them."""
