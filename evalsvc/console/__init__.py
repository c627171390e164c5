"""The console: pages on which people work, above every app. They read by selectors and write by services."""
