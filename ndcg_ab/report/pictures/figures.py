"""A figure saved as PNG, SVG or PDF, without a browser."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from ndcg_ab.errors import InputError
from ndcg_ab.files import replacing

if TYPE_CHECKING:
    from ndcg_ab.report.pictures.style import Figure


def skip_schema_checks() -> contextlib.AbstractContextManager[None]:
    """Altair draws without holding every part against its schema, which takes longer than drawing; a test does."""
    from altair.utils.schemapi import debug_mode

    return debug_mode(False)


def save_figure(figure: "Figure", path: Path) -> None:
    """PNG, SVG or PDF by the name, without a browser; whole or not at all."""
    import vl_convert

    with skip_schema_checks():
        spec, version = figure.to_dict(validate=False), vegalite_version()
    ending = path.suffix.lower()
    with replacing(path) as partial:
        if ending == ".png":
            partial.write_bytes(vl_convert.vegalite_to_png(spec, vl_version=version, scale=2))
        elif ending == ".svg":
            partial.write_text(vl_convert.vegalite_to_svg(spec, vl_version=version), encoding="utf-8")
        elif ending == ".pdf":
            partial.write_bytes(vl_convert.vegalite_to_pdf(spec, vl_version=version))
        else:
            raise InputError(f"{path}: must end in .png, .svg or .pdf")


def vegalite_version() -> str:
    """The Vega-Lite that Altair writes, or the next one that the converter has."""
    import altair as alt
    import vl_convert

    wanted = alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    known = [version for version in vl_convert.get_vegalite_versions() if version.split(".")[0] == wanted[0]]
    return ".".join(wanted) if ".".join(wanted) in known else str(known[-1])
