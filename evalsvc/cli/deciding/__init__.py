"""Gates from the command line and from pytest: what is asked, what the answer says, how a run ends on it."""
