"""Game trees in flat arrays, and their traversal by plain loops that Numba compiles as well."""
