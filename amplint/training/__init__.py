"""What a document trains with: its scalers, optimizers, autocast regions, backward calls and checkpoints.

Where an expression's value comes from is followed through assignments, attributes, parameters, returns and containers
of the whole document, in no particular order of time (:mod:`amplint.training.origins`). Rules about lifetimes and about
what belongs together stand on it; rules about the order of calls stand on :mod:`amplint.flow`.

Importing this package imports LibCST.
"""
