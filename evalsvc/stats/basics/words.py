"""What an estimate says about itself: what it covers, and how often one may look at it."""

THIS_SET, NEW_DATA = "this set", "new data"
ONE_LOOK, WATCHED = "one look", "safe while watched"
