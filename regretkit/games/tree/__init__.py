"""Game trees as flat arrays, and their construction."""
