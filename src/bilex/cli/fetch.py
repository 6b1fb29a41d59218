"""``bilex fetch``: bring a model of the Hugging Face hub into its cache."""

import os

import click

from bilex.cli.options import output_options, print_result


@click.command()
@click.argument("name", metavar="OWNER/NAME[@REVISION][/FILE]")
@output_options
def fetch(name: str, as_json: bool, quiet: bool) -> None:
    """Download the vectors of a repository of the Hugging Face hub.

    For example facebook/fasttext-fi-vectors (7 GB), or a model of model2vec or staticvectors; needs pip install
    'bilex[hub]'. They come into the hub's own cache, and every command takes hf://OWNER/NAME for them from then on.
    Only this command uses the network.
    """
    from bilex.vectors.hub import SCHEME, HubName, fetch_model

    if quiet or as_json:
        os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    fetched = fetch_model(name)
    parsed = HubName.parse(name)
    short = f"{SCHEME}{parsed.repository}" + (f"/{parsed.file}" if parsed.file else "")
    lines = [str(fetched.path), f"commit {fetched.commit}; use it as {short}, or pinned as {fetched.name}"]
    about = {"name": fetched.name, "commit": fetched.commit, "path": str(fetched.path)}
    print_result(about, lines, as_json, quiet)
