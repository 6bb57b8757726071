"""Stand-ins for the slow and the random, shared by all rings."""
