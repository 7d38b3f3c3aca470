"""The charts of the page, in its order: to add one, write its module and enter it here."""

from ndcg_ab.report.page.charts import differences, intervals, slices, timeline, values
from ndcg_ab.report.page.charts.style import Chart

CHARTS: dict[str, Chart] = {  # by the names that the page and its script call them by
    "intervals": intervals.CHART,
    "differences": differences.CHART,
    "values": values.CHART,
    "slices": slices.CHART,
    "nights": timeline.CHART,
}
