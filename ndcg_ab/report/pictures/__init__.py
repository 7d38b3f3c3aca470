"""Pictures drawn by Altair: those of a bundle, in CHARTS, and those that commands draw.

To add one to a bundle, write its module and enter it here.
"""

from ndcg_ab.report.pictures import intervals, nights
from ndcg_ab.report.pictures.style import Chart

CHARTS: dict[str, Chart] = {"intervals": intervals.CHART, "nights": nights.CHART}
