"""What workers share about judges in Redis: limits, money, the breaker, and the client that writes for all."""
