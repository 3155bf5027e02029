"""amplint finds and fixes misuse of PyTorch automatic mixed precision (AMP)."""

__version__ = "0.1.0"
