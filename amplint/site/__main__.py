"""``python -m amplint.site FOLDER``."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import click


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--measure/--no-measure", default=None, help="Run the training scripts.  [default: where torch is]")
def main(folder: str, measure: bool | None) -> None:
    """Write the site into FOLDER."""
    if find_spec("material") is None:
        print("amplint: the site needs MkDocs with Material: pip install -e '.[site]'", file=sys.stderr)
        sys.exit(2)
    from amplint.site import build
    from amplint.site.build import ROOT

    if not (ROOT / "README.md").exists():
        print("amplint: the site is made from a clone: pip install -e '.[site]' there", file=sys.stderr)
        sys.exit(2)
    build(folder, measured=find_spec("torch") is not None if measure is None else measure)


if __name__ == "__main__":
    main(prog_name="python -m amplint.site")
