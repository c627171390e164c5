"""Policy, stops, settling, promotion, and what people order."""
