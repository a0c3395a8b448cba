"""All that Outrider knows of Ray. Everything else works without Ray installed or initialised."""

from __future__ import annotations

import logging
import os
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

log = logging.getLogger("outrider")


def ray_if_running() -> Any | None:
    """The ray module if this process is part of a Ray job; never imports it."""
    ray = sys.modules.get("ray")
    if ray is None:
        return None
    is_initialized = getattr(ray, "is_initialized", None)
    return ray if is_initialized is not None and is_initialized() else None


def _context() -> Any | None:
    ray = ray_if_running()
    return None if ray is None else ray.get_runtime_context()


def in_actor() -> bool:
    """Whether this process is a Ray actor's."""
    context = _context()
    return context is not None and context.get_actor_id() is not None


def actor_name() -> str | None:
    """Name of this process's actor: the one it was given, else its class's; None outside of an actor."""
    if not in_actor():
        return None
    context = _context()
    assert context is not None
    name = context.get_actor_name()
    if name:
        return str(name)
    # Ray names the process "ray::Class.method"; the actor's object does not exist while its constructor runs.
    title = Path("/proc/self/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
    return title.removeprefix("ray::").split(".")[0].split("(")[0].strip() or "actor"


def actor_was_restarted() -> bool:
    """Whether this actor's process is not its first."""
    context = _context()
    assert context is not None
    with warnings.catch_warnings():
        # Ray would rather have its state API asked, which needs the dashboard.
        warnings.simplefilter("ignore")
        return bool(context.was_current_actor_reconstructed)


def actor_handle() -> bytes:
    """This process's actor handle, pickled for whoever may call it; empty outside of an actor."""
    if not in_actor():
        return b""
    from ray import cloudpickle

    context = _context()
    assert context is not None
    return bytes(cloudpickle.dumps(context.current_actor))


def load_handle(data: bytes) -> Any | None:
    """The actor handle that `actor_handle` pickled; None for an empty one."""
    if not data:
        return None
    from ray import cloudpickle

    return cloudpickle.loads(data)


def pickled(value: Any) -> bytes:
    """By value (functions of a script or a notebook, too) where Ray is installed; else by Python's own pickle, by name."""
    try:
        from ray import cloudpickle
    except ImportError:
        return pickle.dumps(value)
    return bytes(cloudpickle.dumps(value))


def unpickled(data: bytes) -> Any:
    """What `pickled` gave; either pickle is read by Python's own."""
    return pickle.loads(data)


def in_words(error: BaseException) -> str:
    """An error's kind and text; of one that came from an actor its own, without the trace that Ray's text is."""
    cause = getattr(error, "cause", None)
    found = cause if isinstance(cause, BaseException) else error
    return f"{type(found).__name__}: {found}"


def logs_directory() -> Path | None:
    """Ray's log directory of this session, where `ray logs` lists files; None outside of Ray or when it cannot be found."""
    ray = ray_if_running()
    if ray is None:
        return None
    try:
        path = Path(ray._private.worker._global_node.get_logs_dir_path())
    except Exception:
        # A worker's stdout is a file in that directory, in every version tried.
        path = Path("/proc/self/fd/1").readlink().parent
    return path if path.is_dir() and os.access(path, os.W_OK) and path.name == "logs" else None


def node_ip() -> str:
    """The address that other nodes reach this one by; the loopback's without Ray."""
    ray = ray_if_running()
    return "127.0.0.1" if ray is None else str(ray.util.get_node_ip_address())


def this_node() -> Any:
    """Places an actor on this node, or elsewhere when this one is lost."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    context = _context()
    assert context is not None
    return NodeAffinitySchedulingStrategy(context.get_node_id(), soft=True)


def namespace() -> str:
    """The Ray namespace that names of runs are unique in."""
    context = _context()
    return "" if context is None else str(context.namespace)
