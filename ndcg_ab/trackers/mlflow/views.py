"""Make saved views of MLflow's runs page, in the form in which "Save as new view" stores them in experiment tags.

MLflow does not document that form (3.17); provisioning it is best effort.
"""

import base64
import hashlib
import json
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import PRIMARY
from ndcg_ab.trackers.mlflow.values import metric_name

TAG = "mlflow.sharedViewState."
SECTIONS = (
    ("quality", "1 Quality"),
    ("difference", "2 Difference from the baseline"),
    ("significance", "3 Significance: adjusted p"),
)
LATEST, EVERY, TREND = "Latest comparison", "Every evaluation", "Nightly trend"
NAME = "attributes.`Run Name`"
NO_ORDER = "tags.`mlflow.source.git.commit`"  # no run has it: the latest come first, and without their parents
WIDTHS = {"tags.`what_to_do`": 150, "tags.`reason`": 460}


def view_id(name: str) -> str:
    """Return the id of a saved view.

    The id depends only on the view's name, so that a new view replaces an old view with this name.
    """
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def view_tags(outcome: Outcome, latest_key: str) -> dict[str, str]:
    """Return the experiment tags that make MLflow show three saved views.

    The views are "Latest comparison", "Every evaluation" and "Nightly trend".
    latest_key: the bundle key of the latest evaluation.
    """
    primary = list(dict.fromkeys(row.metric for row in outcome.comparisons if row.family == PRIMARY))
    others = [metric.name for metric in outcome.metrics if metric.name not in primary]
    keys = [metric_name(name) for name in [*primary, *others]]
    texts = [f"tags.`{key}`" for key in keys]
    latest = page_state(f"tags.kind = 'system' and tags.bundle_key = '{latest_key}'", f"metrics.`{keys[0]}`")
    latest |= table_state(
        [NAME, "tags.`what_to_do`", *texts, "tags.`reason`", "params.`version`"],
        {NAME: 190, **dict.fromkeys(texts, 150)},
    )
    every = page_state("tags.kind != 'system'")  # failed nights, too
    every |= table_state(
        [NAME, *texts[: len(primary) or 1], "tags.`gate`", "tags.`what_to_do`", "tags.`reused`"],
        {NAME: 430, "tags.`what_to_do`": 330, **dict.fromkeys(texts, 430)},
    )
    charts = [chart_state("quality", key) for key in keys]
    charts += [chart_state("difference", f"difference/{key}") for key in keys]
    charts += [chart_state("significance", f"p_adjusted/{key}", "log") for key in keys]
    trend = page_state("tags.kind = 'system'", NO_ORDER) | {"compareRunCharts": charts}
    # one line of the list for each system, which explains the colours of the charts
    trend |= {
        "groupBy": {"aggregateFunction": "average", "groupByKeys": [{"mode": "tag", "groupByData": "system"}]},
        "groupsExpanded": {f"tag.system.{row.system_id}": False for row in outcome.systems},
        "useGroupedValuesInCharts": True,
    }
    views = {LATEST: latest, EVERY: every, TREND: trend}
    return {TAG + view_id(name): encode_view(name, content) for name, content in views.items()}


def table_state(columns: Sequence[str], widths: Mapping[str, int]) -> dict[str, Any]:
    """Return the columns of MLflow's list of runs, in the form in which a saved view stores them.

    columns: the names of the columns, in order. widths: column -> width in pixels.
    """
    widths_known = {name: width for name, width in {**WIDTHS, **widths}.items() if name in columns}
    return {"selectedColumns": list(columns), "columnOrder": list(columns), "columnWidths": widths_known}


def encode_view(name: str, content: dict[str, Any]) -> str:
    now = int(time.time() * 1000)
    packed = base64.b64encode(zlib.compress(json.dumps(content).encode(), 9)).decode()
    return json.dumps({"name": name, "createdAt": now, "updatedAt": now, "state": "deflate;" + packed})


def page_state(search: str, order: str = "attributes.start_time") -> dict[str, Any]:
    """Return the filter and the order of MLflow's page of runs, in the form in which a saved view stores them.

    search: the filter.
    order: the key by which runs are sorted, largest first. Child runs are listed under their parents only if runs are
    sorted by start time.
    """
    flag = {"display": True, "isReordered": True, "deleted": False, "isGenerated": False}
    return {
        "searchFilter": search,
        "orderByKey": order,
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": [],
        "columnOrder": [],
        "columnWidths": {},
        "runsHiddenMode": "SHOWALL",
        "compareRunCharts": [],
        "compareRunSections": [
            {"uuid": uuid, "name": name, "columns": 2, "cardHeight": 380, **flag} for uuid, name in SECTIONS
        ],
        "isAccordionReordered": True,
        "viewMaximized": False,
        "runListHidden": False,
        "useGroupedValuesInCharts": False,
        "hideEmptyCharts": True,
        "groupBy": None,
        "groupsExpanded": {},
        "globalLineChartConfig": {"xAxisKey": "time", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }


def chart_state(section: str, metric_key: str, scale: str = "linear") -> dict[str, Any]:
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
