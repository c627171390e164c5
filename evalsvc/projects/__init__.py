"""Where evaluations and experiments belong: projects, apps, experiments by name."""
