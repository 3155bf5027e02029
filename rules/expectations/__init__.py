"""Expectations: what autocast and the scaler cost, and do not bring."""
