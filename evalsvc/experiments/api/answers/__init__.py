"""The response shapes of experiments, as in the OpenAPI document; tests check every response against them."""
