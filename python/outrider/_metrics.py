"""A run's numbers on the metrics endpoint of the owner's Ray node."""

from __future__ import annotations

import importlib.util
import logging
import threading
import time
from typing import Any

from outrider import _wire_pb2 as wire
from outrider._attachment import Attachment
from outrider.errors import Error

log = logging.getLogger("outrider")

SECONDS = 5.0
"""Between two looks at the run; Ray gives its endpoint what it has every 10 s."""


def export(owner: Attachment) -> None:
    """Shows the numbers of the run that this actor owns until its sidecar ends; returns at once.

    Does nothing without prometheus_client: that comes with the part of Ray that has the endpoint (`ray[default]`).
    """
    if importlib.util.find_spec("prometheus_client") is not None:
        threading.Thread(target=_follow, args=(owner,), name="outrider-metrics", daemon=True).start()


def _follow(owner: Attachment) -> None:
    mirror = Mirror()
    while True:
        try:
            mirror.show(owner.ask(0, get_metrics=wire.GetMetrics()).result().frame.metrics.text)
        except Error:
            return  # the run has ended, or its owner
        except Exception:
            log.warning("outrider: the run's numbers are not shown on Ray's metrics endpoint any more", exc_info=True)
            return
        time.sleep(SECONDS)


class Mirror:
    """Ray's metrics under the names and labels of the Prometheus text; Ray puts `ray_` before them.

    Histograms are left out: Ray makes their sums from the middles of buckets. `Run.metrics` has them.
    """

    def __init__(self) -> None:
        self._metrics: dict[str, Any] = {}
        self._shown: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}

    def show(self, text: str) -> None:
        """Sets gauges and raises counters to what the text says; a gauge that it no longer has becomes 0, for Ray shows it on."""
        from prometheus_client.parser import text_string_to_metric_families
        from ray.util.metrics import Counter, Gauge

        gone = {key for key in self._shown if isinstance(self._metrics[key[0]], Gauge)}
        for family in text_string_to_metric_families(text):
            kind = {"gauge": Gauge, "counter": Counter}.get(family.type)
            if kind is None or not family.name.startswith("outrider_"):
                continue
            for sample in family.samples:
                if family.name not in self._metrics:
                    self._metrics[family.name] = kind(family.name, family.documentation, tuple(sample.labels))
                key = family.name, tuple(sample.labels.items())
                gone.discard(key)
                self._set(key, sample.value)
        for key in gone:
            self._set(key, 0.0)

    def _set(self, key: tuple[str, tuple[tuple[str, str], ...]], value: float) -> None:
        name, labels = key
        metric, before = self._metrics[name], self._shown.get(key, 0.0)
        self._shown[key] = value
        if hasattr(metric, "set"):
            metric.set(value, tags=dict(labels))
        elif value > before:
            metric.inc(value - before, tags=dict(labels))
