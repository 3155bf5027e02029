"""Everything that a document says about training, each view made once, when the first rule asks."""

from __future__ import annotations

import functools

import libcst as cst

from amplint.flow.vocabulary import FRAMEWORKS
from amplint.syntax.names import Names
from amplint.training.autocast import Autocasts
from amplint.training.checkpoints import Checkpoints
from amplint.training.conditions import Conditions
from amplint.training.lifetimes import Lifetimes
from amplint.training.origins import Origins
from amplint.training.places import Places
from amplint.training.scalers import Scalers


class Training:
    """The training code of one document."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.tree = names.tree

    @functools.cached_property
    def is_script(self) -> bool:
        """Whether the document is one that is run, so that no other is likely to import its names."""
        for statement in self.tree.module.body:
            if isinstance(statement, (cst.For, cst.While)):
                return True
            if isinstance(statement, cst.If) and "__name__" in self.tree.code(statement.test):
                return True
        return False

    @functools.cached_property
    def uses_framework(self) -> bool:
        """Whether the document imports a package that owns the scaler."""
        return any(
            imported.module.partition(".")[0] in FRAMEWORKS and not imported.module.endswith((".utils", ".logging"))
            for imported in self.names.imports
        )

    @functools.cached_property
    def places(self) -> Places:
        """Where things stand."""
        return Places(self.names)

    @functools.cached_property
    def origins(self) -> Origins:
        """Where values come from."""
        return Origins(self.names, self.places)

    @functools.cached_property
    def conditions(self) -> Conditions:
        """What must hold for code to run."""
        return Conditions(self.origins)

    @functools.cached_property
    def lifetimes(self) -> Lifetimes:
        """How often code runs, and how long values live."""
        return Lifetimes(self.places, self.origins)

    @functools.cached_property
    def scalers(self) -> Scalers:
        """The gradient scalers."""
        return Scalers(self.names, self.places, self.origins)

    @functools.cached_property
    def checkpoints(self) -> Checkpoints:
        """What is saved."""
        return Checkpoints(self.places, self.origins, self.scalers)

    @functools.cached_property
    def autocasts(self) -> Autocasts:
        """The autocast regions."""
        return Autocasts(self.names, self.places, self.origins, self.conditions)
