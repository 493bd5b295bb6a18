"""How games and results look: as SVG, and as the HTML that notebooks show."""
