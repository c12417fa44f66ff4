"""`optarena publish`: a store as a bundle of an archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.archive import publish
from optarena.archive.bundle import INDEX, files_of, read_facts
from optarena.cli._terminal import say
from optarena.errors import OptarenaError


def command(
    store: Annotated[Path, typer.Argument(help="The store's directory; its name is that of the bundle.")],
    output: Annotated[
        Path | None, typer.Option("-O", "--output", help="The archive's directory; it may exist.")
    ] = None,
) -> None:
    """Write the store, every evaluation as a table, the report, versions and checksums, and the archive's index."""
    if output is None:
        raise OptarenaError(f"give the archive to write to: optarena publish {store} -O ARCHIVE")
    bundle = publish(store, output)
    files = files_of(bundle)
    size = sum((bundle / file).stat().st_size for file in files)
    say(f"{clean(bundle)}: {counted(len(files), 'file')} with checksums, {size / 1e6:.1f} MB")
    if own := read_facts(bundle).files:
        say(f"not in it: {clean(', '.join(own))}; who wants to run those studies again needs the same files from you")
    say(f"{clean(output / INDEX)} lists the bundles; 'optarena verify {clean(output)}' checks them")
