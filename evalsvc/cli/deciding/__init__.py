"""Gates from the command line and from pytest: the request, the decision, and the exit status."""
