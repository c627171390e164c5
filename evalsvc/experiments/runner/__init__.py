"""The scheduler and the processing of a unit: query, score, record."""
