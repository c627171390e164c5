"""Run the service: health, metrics, commands, the supervisor and what it embeds."""
