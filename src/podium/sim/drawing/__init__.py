"""Pictures of figures: data to a scene of plain marks, and a scene to SVG or PNG.  Pure functions, no script."""
