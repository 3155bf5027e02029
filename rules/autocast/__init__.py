"""The autocast region: what runs in half precision, where, and for how long."""
