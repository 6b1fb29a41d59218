"""``bilex fetch``: bring a model of the Hugging Face hub into its cache."""

from __future__ import annotations

import click

from bilex.cli.options import json_option, print_json, quiet_option


@click.command()
@click.argument("name", metavar="OWNER/NAME[@REVISION][/FILE]")
@json_option
@quiet_option
def fetch(name: str, as_json: bool, quiet: bool) -> None:
    """Download the vectors of a repository of the Hugging Face hub.

    For example facebook/fasttext-fi-vectors (7 GB), or a model of model2vec or staticvectors; needs pip install
    'bilex[hub]'. They come into the hub's own cache, and every command takes hf://OWNER/NAME for them from then on.
    Only this command uses the network.
    """
    from bilex.vectors.hub import SCHEME, HubName, fetch_model

    if quiet or as_json:
        silence_bars()
    fetched = fetch_model(name)
    if as_json:
        print_json({"name": fetched.name, "commit": fetched.commit, "path": str(fetched.path)})
    elif not quiet:
        parsed = HubName.parse(name)
        short = f"{SCHEME}{parsed.repository}" + (f"/{parsed.file}" if parsed.file else "")
        click.echo(f"{fetched.path}\ncommit {fetched.commit}; use it as {short}, or pinned as {fetched.name}")


def silence_bars() -> None:
    """Keep huggingface-hub from drawing progress bars."""
    try:
        from huggingface_hub.utils import disable_progress_bars
    except ImportError:
        return  # the command will say so
    disable_progress_bars()
