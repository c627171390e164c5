"""OTLP over gRPC, in a process of its own: nothing may fork once grpcio has started its threads."""
