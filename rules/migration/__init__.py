"""The AMP API: names that PyTorch deprecates, and what stands in their place."""
