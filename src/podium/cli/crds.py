"""`podium crds`: the definitions of the API families' kinds, for a cluster that podium does not run itself."""

from __future__ import annotations

import click


@click.command()
@click.option("--dialect", metavar="NAME", help="Only the kinds of this API family.")
def crds(dialect: str | None) -> None:
    """Print the custom resource definitions as YAML, ready for `kubectl apply -f -`."""
    import msgspec
    import yaml

    from podium.cli.dialects import chosen_dialects

    documents = [document for each in chosen_dialects(dialect) for document in each.documents()]
    # Each part anew, or the printer would write anchors where fields share a part.
    documents = msgspec.json.decode(msgspec.json.encode(documents))
    click.echo(yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False, width=115), nl=False)
