"""Where and how torch computes: the device, threads, determinism, and whether in bfloat16.

`auto` is CUDA, then the CPU. It is not MPS, which lacks float64 and on which nothing has been tried.
"""

import platform
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ..config import LoopConfig
from ..errors import ConfigError

__all__ = ["device_of", "lacks_bfloat16", "restored_torch", "set_torch", "slow", "use_bfloat16"]


def device_of(name: str) -> torch.device:
    """Returns the device that `train.device` names.

    Raises:
        ConfigError: if there is none.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(
            f"device {name!r}: {str(error).splitlines()[0]}; auto takes a GPU with CUDA, else the CPU"
        ) from error
    return device


def use_bfloat16(config: LoopConfig, device: torch.device) -> bool:
    """Whether to compute in bfloat16."""
    if config.precision != "auto":
        return config.precision == "bfloat16"
    return device.type == "cuda" and torch.cuda.is_bf16_supported()


@contextmanager
def restored_torch() -> Iterator[None]:
    """Puts back what `set_torch` changes: threads and determinism belong to the program that trains a run."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        if deterministic != torch.are_deterministic_algorithms_enabled():
            torch.use_deterministic_algorithms(deterministic, warn_only=warns)


def set_torch(train: LoopConfig) -> None:
    """Sets what a run's configuration says of torch itself; `restored_torch` puts it back."""
    if train.threads is not None:
        torch.set_num_threads(train.threads)
    # The call imports torch's compiler, which takes more than a second, whatever it is given.
    if train.deterministic != torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(train.deterministic)


def slow(train: LoopConfig) -> Iterator[str]:
    """Yields reasons why training is slower on this machine than it could be, one sentence each."""
    device = device_of(train.device)
    if device.type == "cpu" and use_bfloat16(train, device) and lacks_bfloat16():
        yield (
            "train.precision bfloat16: torch has no fast bfloat16 for this processor, which lacks AVX-512; "
            "--precision float32 is many times faster"
        )


def lacks_bfloat16() -> bool:
    """Whether torch multiplies bfloat16 number by number: on x86 it has kernels for AVX-512 alone."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return x86 and not torch.backends.cpu.get_cpu_capability().startswith("AVX512")
