"""Charts as SVG, drawn on the server in plain Python. Their appearance is defined by classes in console.css.

Texts have the same size at every width: horizontal positions are percentages, vertical positions are pixels.
"""
