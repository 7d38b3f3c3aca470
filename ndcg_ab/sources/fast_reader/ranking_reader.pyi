def reduce(
    text: bytes | bytearray, length: int, line_end: bytes, depth: int, whole: bytes
) -> tuple[bytes, ...] | None: ...
def reduce_columns(
    id_ends: bytes,
    ids: bytes,
    doc_ends: bytes,
    docs: bytes,
    scores: bytes,
    ranks: bytes | None,
    depth: int,
    whole: bytes,
) -> tuple[bytes, ...] | None: ...
