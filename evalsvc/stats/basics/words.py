"""Labels of estimates: what an estimate covers, and whether it is valid at one look or anytime."""

THIS_SET, NEW_DATA = "this set", "new data"
ONE_LOOK, WATCHED = "one look", "safe while watched"
