"""Saved views for MLflow's runs page, as the state that its "Save as new view" stores in an experiment tag.

MLflow does not document that state (3.17); provisioning it is best effort.
"""

import base64
import hashlib
import json
import time
import zlib
from collections.abc import Sequence
from typing import Any

from ndcg_ab.tracking.mlflow_names import metric_name
from ndcg_core.measures.metric import Metric

TAG = "mlflow.sharedViewState."
SECTIONS = (
    ("quality", "1 Quality"),
    ("difference", "2 Difference from the baseline"),
    ("significance", "3 Significance"),
)


def view_id(name: str) -> str:
    """The same id for the same view, so that provisioning again replaces it."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def views(metrics: Sequence[Metric], latest_key: str) -> dict[str, str]:
    """Experiment tag -> value for "Nightly trend" (lines by system) and "Latest comparison" (the last runs)."""
    trend = state(metrics, "tags.kind = 'system'")
    latest = state(metrics, f"tags.kind = 'system' and tags.bundle_key = '{latest_key}'")
    return {
        TAG + view_id("Nightly trend"): wrapped("Nightly trend", trend),
        TAG + view_id("Latest comparison"): wrapped("Latest comparison", latest),
    }


def wrapped(name: str, content: dict[str, Any]) -> str:
    now = int(time.time() * 1000)
    packed = base64.b64encode(zlib.compress(json.dumps(content).encode(), 9)).decode()
    return json.dumps({"name": name, "createdAt": now, "updatedAt": now, "state": "deflate;" + packed})


def state(metrics: Sequence[Metric], search: str) -> dict[str, Any]:
    first = metric_name(metrics[0])
    columns = ["tags.`system`", "tags.`role`", "tags.`evaluation`"]
    columns += [f"metrics.`{metric_name(metric)}`" for metric in metrics]
    columns += [f"metrics.`difference/{first}`", f"metrics.`p_adjusted/{first}`", "params.`verdict`"]
    charts = [chart("quality", metric_name(metric)) for metric in metrics]
    charts += [chart("difference", f"difference/{metric_name(metric)}") for metric in metrics]
    charts += [chart("difference", f"difference_{side}/{first}") for side in ("low", "high")]
    charts += [chart("significance", f"p_adjusted/{metric_name(metric)}", "log") for metric in metrics]
    flag = {"display": True, "isReordered": True, "deleted": False, "isGenerated": False}
    return {
        "searchFilter": search,
        "orderByKey": "attributes.start_time",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": columns,
        "columnOrder": [],
        "columnWidths": {},
        "runsHiddenMode": "SHOWALL",
        "compareRunCharts": charts,
        "compareRunSections": [{"uuid": uuid, "name": name, **flag} for uuid, name in SECTIONS],
        "isAccordionReordered": True,
        "viewMaximized": False,
        "runListHidden": False,
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "groupBy": {"aggregateFunction": "average", "groupByKeys": [{"mode": "tag", "groupByData": "system"}]},
        "groupsExpanded": {},
        "globalLineChartConfig": {"xAxisKey": "time", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }


def chart(section: str, metric_key: str, scale: str = "linear") -> dict[str, Any]:
    return {
        "uuid": view_id(section + metric_key),
        "type": "LINE",
        "runsCountToCompare": 100,
        "metricSectionId": section,
        "deleted": False,
        "isGenerated": False,
        "metricKey": metric_key,
        "selectedMetricKeys": [metric_key],
        "lineSmoothness": 0,
        "xAxisScaleType": "linear",
        "scaleType": scale,
        "range": {},
        "xAxisKey": "time",
        "selectedXAxisMetricKey": "",
        "yAxisKey": "metric",
        "yAxisExpressions": [],
        "ignoreOutliers": False,
        "useGlobalXaxisKey": False,
        "useGlobalLineSmoothing": False,
    }
