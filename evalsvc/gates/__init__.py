"""Gates: pass, fail or undecided, with the evidence that each rests on."""
