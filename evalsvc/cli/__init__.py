"""The command line `evalsvc`: click and the client, nothing of the server. `main` has the commands."""
