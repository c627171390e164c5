"""How results show themselves: tables with drawn intervals, data frames, plots, and lists of the service."""
