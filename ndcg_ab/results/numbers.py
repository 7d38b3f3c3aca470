"""Format numbers as text: one function for each kind of number, used by all reports, findings and messages."""

LARGE = 1e9  # from here on (of dcg and cg with huge gains) digits are counted, not written


def signed(value: float | None) -> str:
    """Return a number with its sign and four decimals: ``+0.1234``; a dash for None.

    From 10^9 on, the number is in scientific notation.
    """
    if value is None:
        return "–"
    return f"{value:+.4f}" if abs(value) < LARGE else f"{value:+.4e}"


def format_plain(value: float | None) -> str:
    """Return a number with four decimals: ``0.1234``; a dash for None.

    From 10^9 on, the number is in scientific notation.
    """
    if value is None:
        return "–"
    return f"{value:.4f}" if abs(value) < LARGE else f"{value:.4e}"


def format_fraction(value: float | None) -> str:
    """Return a share with two decimals: ``0.98``; a dash for None."""
    return "–" if value is None else f"{value:.2f}"


def format_figure(value: float | None) -> str:
    """Return a number >= 0 with four decimals, or two significant digits if it is below 0.001; a dash for None."""
    if value is None:
        return "–"
    return f"{value:.4f}" if value >= 0.001 or value == 0 else f"{value:.2g}"


def format_percent(value: float | None) -> str:
    """Return a share as a whole percentage: ``98 %`` for 0.98, but ``99.8 %`` for 0.998; a dash for None."""
    if value is not None and 0.995 <= value < 1:
        return format_percent_below(value, 1.0)
    return "–" if value is None else f"{100 * value:.0f} %"


def format_percent_below(share: float, limit: float) -> str:
    """Return a share in percent, with enough decimals to show that it is below the limit: ``79.8 %`` below 80 %."""
    for decimals in range(6):
        text = f"{100 * share:.{decimals}f}"
        if float(text) < 100 * limit:
            return f"{text} %"
    return f"{100 * share:.6g} %"


def format_probability(value: float | None) -> str:
    """Return a probability with four decimals, or with one significant digit if it is below 0.0001.

    A dash for None and for 0. A p-value is 0 only in a t test whose differences are all equal, so that there is nothing
    to test.
    """
    if value is None or value == 0:
        return "–"
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1g}"


def format_range(low: float | None, high: float | None) -> str:
    """Return an interval as text: ``[+0.0100, +0.0300]``; a dash if a bound is None."""
    return "–" if low is None or high is None else f"[{signed(low)}, {signed(high)}]"
