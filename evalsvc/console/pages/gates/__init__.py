"""Gates: what was decided, with its evidence; asked from a form; and the lines that ask the same in CI."""
