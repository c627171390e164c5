"""Charts as SVG, drawn on the server: plain Python, numbers in, markup out. Looks are classes of console.css.

Texts keep their size at every width: what lies across is placed in percent, what lies upwards in pixels.
"""
