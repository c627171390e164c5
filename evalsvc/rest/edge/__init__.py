"""What every request goes through before and after its view."""
