"""Options that several commands share, and how figures are printed."""

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import click

from bilex.cli.terminal import echo
from bilex.errors import BilexError
from bilex.methods import DEFAULT_METHOD, METHODS, OPTIONS, Option

Command = TypeVar("Command", bound=Callable[..., Any])
MAX_NUMBER = (1 << 63) - 1


class ShareType(click.FloatRange):
    """A number from 0 to 1; NaN is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number, and refuse it if it is in no range."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value} is no probability.", param, ctx) if math.isnan(number) else number


quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress, no summary; warnings and errors only.")
force_option = click.option("--force", is_flag=True, help="Replace what bilex wrote there before.")
strict_option = click.option(
    "--strict", is_flag=True, help="Exit with 3 for a doubtful lexicon too, not only a failed one."
)
report_option = click.option(
    "--report/--no-report",
    default=True,
    show_default=False,
    help="Write report.html, a page that shows and judges the run.",
)
limit_option = click.option(
    "--limit", type=click.IntRange(1), metavar="N", default=200_000, help="Words to read from each file."
)
reverse_option = click.option("--reverse", is_flag=True, help="From the target language to the source language.")
min_confidence_option = click.option(
    "--min-confidence",
    type=ShareType(0, 1),
    default=0.0,
    metavar="P",
    help="Only entries with at least this confidence.",
)


def min_probability_option(text: str, default: float | None = None) -> Callable[[Command], Command]:
    """Let the user choose how probable a translation must be to be in a word's set of translations."""
    return click.option(
        "--min-probability",
        type=ShareType(0, 1),
        metavar="P",
        default=default,
        help=text,
    )


run_argument = click.argument("run", type=click.Path(path_type=str))


def output_options(command: Command) -> Command:
    """Let the user choose JSON, or no progress and no summary; `print_result` prints accordingly."""
    as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")
    return as_json(quiet_option(command))


def method_options(command: Command) -> Command:
    """Add the options of a method that the command line offers, from their declarations in `bilex.methods`."""
    for each in reversed([each for each in OPTIONS.values() if each.flag]):
        name = f"--{each.name.replace('_', '-')}"
        if each.type is bool:
            command = click.option(name, each.name, is_flag=True, default=None, help=each.help)(command)
            continue
        kinds: Any = [kind for kind in (int, float) if kind.__name__ in str(each.type)]
        parsed = click.Choice(each.choices) if each.choices else next(iter(kinds), str)
        choices = f" One of {', '.join(each.choices)}." if each.choices else ""
        text = f"{each.help}{choices}  [default: {defaults(each)}]"
        metavar = each.metavar or ("KIND" if each.choices else "X")
        command = click.option(name, each.name, type=parsed, metavar=metavar, help=text)(command)
    return command


def defaults(option: Option) -> str:
    """Describe the default of an option: in the default method, in most others, and the exceptions."""
    values = {name: default_of(option.name, name) for name in METHODS}
    first, others = values.pop(DEFAULT_METHOD), list(values.values())
    usual = max(others, key=others.count)
    exceptions = [f"{name} {value}" for name, value in values.items() if value != usual]
    return "; ".join(filter(None, [first, f"other methods {usual}" * (usual != first), ", ".join(exceptions)]))


def default_of(option: str, method: str) -> str:
    """Return the default of an option in a method as text."""
    values = METHODS[method].options()
    if option == "max_rank":
        seen = f"{values[option]} words" if values[option] else "all words"
        return f"{seen} while learning, then all" if values["match_all"] else seen
    return "none" if values[option] is None else str(values[option])


def method_changes(context: click.Context) -> dict[str, Any]:
    """Return the options of a method that were given on the command line."""
    return {name: context.params[name] for name in OPTIONS if name in context.params and is_given(context, name)}


def retrieval_option(default: str) -> Callable[[Command], Command]:
    """Let the user choose how targets are ranked."""
    return click.option(
        "--retrieval",
        type=click.Choice(["model", "csls", "isf", "nn"]),
        default=default,
        help="Rank by the weight of a pair, by CSLS or the inverted softmax, which correct for hubs, or by cosine.",
    )


@contextlib.contextmanager
def wrong_usage() -> Iterator[None]:
    """Report errors in the block as wrong usage (exit code 2), not as bad input."""
    try:
        yield
    except BilexError as error:
        raise click.UsageError(str(error), click.get_current_context(silent=True)) from None


def check_value(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an empty name, as of an unset variable in a script, and a number of more than 64 bits."""
    named = isinstance(parameter, click.Option) or isinstance(parameter.type, click.Path)
    for each in value if isinstance(value, tuple) else (value,):
        if named and isinstance(each, str) and not each.strip():
            raise click.BadParameter("it is empty; give a value, or leave it out.", context, parameter)
        if isinstance(each, int) and abs(each) > MAX_NUMBER:
            raise click.BadParameter(f"give a number up to {MAX_NUMBER}.", context, parameter)
    return value


def is_given(context: click.Context, name: str) -> bool:
    """Check whether a parameter was on the command line."""
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def json_text(data: Mapping[str, Any]) -> str:
    """Return data as JSON for files and for the terminal."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout."""
    echo(json_text(data).rstrip("\n"), wrap=False)


def print_result(data: Mapping[str, Any], lines: Iterable[str], as_json: bool, quiet: bool) -> None:
    """Print the result of a command as JSON, or in lines for people, or not at all."""
    if as_json:
        print_json(data)
    elif not quiet:
        for line in lines:
            echo(line)
