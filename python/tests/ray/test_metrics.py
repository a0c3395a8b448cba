"""The endpoint of a Ray node, which Prometheus scrapes."""

import urllib.request

import pytest
import ray
import traces
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.usefixtures("cluster")


def scrape(run):
    """Values of the run's series by name, account (or bound), as this node's endpoint has them."""
    [node] = ray.nodes()
    with urllib.request.urlopen(f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics") as page:
        families = text_string_to_metric_families(page.read().decode())
        samples = [sample for family in families for sample in family.samples]
    return {
        (sample.name, sample.labels.get("account") or sample.labels.get("bound")): sample.value
        for sample in samples
        if sample.labels.get("run") == run.name
    }


def closed(books):
    """Whether it is all of one look: Ray may read in the middle of the next one."""
    parts = ("acknowledged", "failed", "live")
    return books["ray_outrider_groups", "reserved"] == sum(books["ray_outrider_groups", part] for part in parts)


def test_S9_05_the_books_are_on_the_metrics_endpoint_of_rays_node(start, engine, trainer):
    run = start("scraped", count=8, batch_groups=2)
    engine(run).serve.remote()
    ray.get(trainer(run).next.remote(0))

    def trained():
        found = scrape(run)
        return found if found.get(("ray_outrider_groups", "acknowledged")) == 2 and closed(found) else None

    found = traces.until(trained)
    assert found, "the books of the run never came to the endpoint of Ray's node"
    assert found["ray_outrider_bound_limit", "executing"] == run.stats().executing.limit
