"""Where vectors come from: ``bilex vectors`` trains them from text, ``bilex fetch`` brings a model of the hub."""

import os
from dataclasses import asdict

import click

from bilex.cli.options import output_options, print_result

ENDINGS = (".vec", ".vec.gz", ".txt", ".bin", ".safetensors")


@click.command()
@click.argument("corpus", nargs=-1, required=True, type=click.Path(), metavar="CORPUS...")
@click.option("-o", "--output", required=True, metavar="XX.vec", help="The file to write: .vec, .bin or .safetensors.")
@click.option(
    "--dimension", type=click.IntRange(2, 2000), metavar="N", help="Numbers per word.  [default: 100 to 300, by size]"
)
@click.option(
    "--min-count", type=click.IntRange(1), metavar="N", help="Leave out rarer words.  [default: 2 to 5, by size]"
)
@click.option(
    "--epochs", type=click.IntRange(1), metavar="N", help="Passes over the text.  [default: 40 to 5, by size]"
)
@click.option("--window", type=click.IntRange(1), metavar="N", default=5, help="Words of context on each side.")
@click.option("--keep-case", is_flag=True, help="Do not turn words to lower case.")
@click.option(
    "--at-spaces", is_flag=True, help="The text is cut into words already: whatever is between spaces is one."
)
@output_options
def vectors(corpus: tuple[str, ...], output: str, as_json: bool, quiet: bool, **settings: int | None) -> None:
    """Train word vectors from the text files CORPUS, plain or gzipped.

    For a language that has texts but no vectors; needs pip install 'bilex[corpora]'. Words are cut by the Unicode rules
    and written in order of frequency. The same text gives the same vectors, so only one thread trains.
    """
    from bilex.files.ownership import check_not_read
    from bilex.runs.progress import show_progress
    from bilex.vectors.corpora import CorpusTraining, train_vectors

    if not output.lower().endswith(ENDINGS):
        raise click.UsageError(
            f"{output}: the name of the file ends in {', '.join(ENDINGS)}", click.get_current_context()
        )
    check_not_read(output, corpus)
    with show_progress(quiet or as_json) as reporter:
        reporter.stage("training")
        trained = train_vectors(corpus, CorpusTraining(**settings), reporter.rows)  # type: ignore[arg-type]
        reporter.stage(f"writing {output}")
        trained.vectors.save(output)
    made, training = trained.vectors, trained.training
    sizes = {"tokens": trained.tokens, "types": trained.types, "words": len(made)}
    line = (
        f"{trained.tokens:,} words of text, {trained.types:,} different; {len(made):,} of them at least "
        f"{training.min_count} times, in {made.dimension} dimensions ({training.epochs} passes): {output}"
    )
    print_result({"output": output, **sizes, **asdict(training)}, [line], as_json, quiet)


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
