"""The gradient scaler's protocol: the order of scale, unscale_, step and update."""
