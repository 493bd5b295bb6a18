"""Games as flat arrays, for machine code."""
