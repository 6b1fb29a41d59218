"""The command line. Data goes to stdout, progress and warnings to stderr; an error is one line.

Only light modules are imported here and in the commands' files. A command imports what it needs when it runs, so that
``bilex --help`` is quick.
"""

import contextlib
import ctypes
import gc
import os
import signal
import sys
import warnings

import click

from bilex.cli.align import align
from bilex.cli.demo import demo
from bilex.cli.doctor import doctor
from bilex.cli.evaluation import compare, evaluate, hubness, similarity
from bilex.cli.experiments import benchmark, reproduce, sweep
from bilex.cli.explore import explore
from bilex.cli.export import export
from bilex.cli.induce import induce
from bilex.cli.induce_many import induce_many
from bilex.cli.interrupts import exit_message, install_signal_handlers, received
from bilex.cli.options import check_value
from bilex.cli.report import report
from bilex.cli.terminal import HelpFormatter, echo, open_streams
from bilex.cli.translate import translate
from bilex.cli.vectors import fetch, vectors
from bilex.errors import BilexError, BilexWarning
from bilex.version import __version__

__all__ = ["bilex", "main"]

DONE, ERROR, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # from malloc.h
LARGE_ARRAY, MAX_KEPT = 32 << 20, 128 << 20  # bytes: larger arrays are given back at once; what is kept of the others
OBJECTS_BETWEEN_COLLECTIONS = 50_000  # words are no garbage; with Python's 700 a run takes 2% longer
COMPLETE = "_BILEX_COMPLETE"  # set in the environment by a shell that asks for completion
COMPLETION = """For completion with the Tab key in bash (in zsh write zsh_source, in fish fish_source):

\b
  eval "$(_BILEX_COMPLETE=bash_source bilex)"
"""
click.Context.formatter_class = HelpFormatter


class CommandGroup(click.Group):
    """All commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they were added."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of each command, whole."""
        rows = [(name, self.commands[name].get_short_help_str(limit=1000)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    invoke_without_command=True,
    epilog=COMPLETION,
)
@click.version_option(__version__, prog_name="bilex")
@click.pass_context
def bilex(context: click.Context) -> None:
    """Learn bilingual lexicons from monolingual word vectors and a tiny seed.

    Try `bilex demo`, then `bilex induce en.vec fr.vec -o en-fr`.
    """
    if context.invoked_subcommand is None:  # a bare `bilex`
        click.echo(context.get_help(), err=True)
        context.exit(WRONG_USAGE)


for command in (  # in the order of use
    *(demo, fetch, vectors, induce, translate, evaluate, explore, export, report, induce_many, align),
    *(compare, similarity, hubness, benchmark, reproduce, sweep, doctor),
):
    bilex.add_command(command)
    for parameter in command.params:
        parameter.callback = parameter.callback or check_value
        if isinstance(parameter.type, click.Path):
            parameter.type.readable = False  # the readers report that, as bad input


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    open_streams()
    install_signal_handlers()
    keep_freed_memory()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    code = run(arguments)
    if received:  # do not wait for threads that still work
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while Python ends shows no traceback
    try:
        sys.stdout.flush()
    except OSError as error:
        code = code or report_error(error)
        discard_output()  # Python would try again, and end with a code of its own
    sys.exit(code)


def discard_output() -> None:
    """Let what is still written to stdout go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def keep_freed_memory() -> None:
    """Let the C library use freed memory for the next array; new pages from the system took a tenth of a run's time."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):  # glibc
            library.mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)
            library.mallopt(M_TRIM_THRESHOLD, MAX_KEPT)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; an error is one line on stderr."""
    exit_message.reset()
    received.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("always", BilexWarning)
        warnings.showwarning = show_warning
        try:
            return invoke(sys.argv[1:] if arguments is None else arguments) or DONE
        except click.exceptions.Exit as ended:
            return ended.exit_code
        except click.ClickException as error:
            where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "bilex"
            return print_error(f"{error.format_message()} (see `{where} --help`)", WRONG_USAGE)
        except BaseException as error:
            if isinstance(error, SystemExit) and not received:
                raise
            if not isinstance(error, click.Abort | KeyboardInterrupt) and not received:  # a signal may cause others
                return report_error(error)
            if received and received[-1] != signal.SIGINT:
                return 128 + received[-1]
            if sys.stderr.isatty():
                click.echo(err=True)  # the terminal has put ^C at the start of the line
            return print_error(exit_message.for_interrupt(), INTERRUPTED)


def invoke(arguments: list[str]) -> int | None:
    """Do what click's `main` does, but for the empty line that it prints at Ctrl-C, even in a pipe."""
    if COMPLETE in os.environ:
        bilex.main(prog_name="bilex")
    command = ["bilex", *arguments]  # for reports, and to go on
    with bilex.make_context("bilex", list(arguments), obj=command) as context:
        code: int | None = bilex.invoke(context)
    return code


def report_error(error: BaseException) -> int:
    """Print an exception as one line on stderr, and return the exit code."""
    match error:
        case BilexError() | BilexWarning():
            message = f"{error}{exit_message.after_error()}"
        case BrokenPipeError():  # the reader of our output went away, as `head` does
            discard_output()
            return ERROR
        case FileNotFoundError(strerror=str(reason)) if "temporary directory" in reason:
            message = "no folder for temporary files can be written to; set TMPDIR to one"
        case FileNotFoundError(filename=None):  # of the path that another one is relative to
            message = "the current folder does not exist any more; change to another one"
        case OSError():
            message = f"{error.filename or 'output'}: {error.strerror or error}{exit_message.after_error()}"
        case MemoryError():
            message = f"out of memory; read fewer words with --limit{exit_message.after_error()}"
        case RuntimeError() if "start new thread" in str(error):  # ulimit -u, or the limit of a container
            message = f"the system allows no more threads; use fewer, with BILEX_THREADS=1{exit_message.after_error()}"
        case ImportError():
            about = " ".join(str(error).split())[-200:]
            message = f"a package cannot be loaded ({about}); allow more memory (ulimit -v), or install bilex again"
        case _ if os.environ.get("BILEX_DEBUG"):
            raise error
        case _:
            about = " ".join(f"{type(error).__name__}: {error}".split())
            message = f"this is a bug in bilex ({about}); please report it, with BILEX_DEBUG=1 set"
    return print_error(message, ERROR)


def print_error(message: str, code: int) -> int:
    """Print an error as one line on stderr, and return the code."""
    echo(f"bilex: error: {message}", err=True)
    return code


def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning of bilex as one line on stderr; those of other packages are for developers."""
    if issubclass(category, BilexWarning):
        echo(f"bilex: warning: {message}", err=True)
