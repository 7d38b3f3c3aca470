"""Whether the process may have the address space that numpy, Arrow and DuckDB map when they are loaded.

With less OpenBLAS tries to allocate for ever, and threads of the others end the process without a word.
"""

import os
import resource

from ndcg_ab.errors import InputError

LEAST, FOR_A_CORE = 2_500_000_000, 250_000_000  # bytes; measured: 2 cores work with 3 GB, and not with 2 GB


def refuse_little_room() -> None:
    """InputError where `ulimit -v` leaves too little; most of what is mapped is never used."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = LEAST + FOR_A_CORE * (os.cpu_count() or 1)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise InputError(
            f"ulimit -v: {limit / 1e6:,.0f} MB of address space are too little, {needed / 1e6:,.0f} MB are needed, most"
            " of them never used: raise it; what DuckDB may use is said by resources.memory_limit"
        )
