"""What the pictures share: colours and fonts.

Outcomes are shown by position or shape, never by colour alone.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair

    Figure = altair.Chart | altair.LayerChart | altair.FacetChart | altair.VConcatChart

INK, SOFT, LINE = "#1b1f24", "#57606a", "#d0d7de"
BETTER, WORSE, NEITHER = "#0b63b5", "#b5440b", "#6e7781"
LINES = ("#0072b2", "#d55e00", "#009e73", "#a8327d", "#946c00", "#56646f", "#3a86c8", "#7a4b2a")
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 2], [1, 3], [10, 2, 2, 2]]


def chart_config() -> dict[str, Any]:
    """The look that every picture shares."""
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": "#ffffff",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": text | {"gridColor": LINE, "domainColor": SOFT, "tickColor": SOFT, "titleFontWeight": "normal"},
        "legend": text | {"orient": "top", "labelLimit": 260, "columns": 3},
        "title": {"color": INK, "anchor": "start", "fontSize": 14, "offset": 12},
    }
