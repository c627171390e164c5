"""One machine with systemd."""
