"""What was judged, answered and decided about an experiment, as lines of its bundle: named by numbers, without ids."""
