"""Documents and text rules. Pure: no I/O, no model, no protocol."""
