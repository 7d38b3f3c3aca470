"""What a source notices survives the working folder, and changes no digest."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.runs.folder import read_input_table
from ndcg_ab.sources import RANKING, Pulled, make_source
from ndcg_ab.sources.base import Remark, with_remarks

REMARK = Remark("several_tags", 2, ("run.txt, line 7: tag 'b'",))


def test_remarks_are_kept_with_the_table(tmp_path: Path) -> None:
    rows = {"query_id": ["1"], "doc_id": ["a"], "score": [1.0], "rank": [None]}
    table = pa.table(rows, schema=RANKING.schema)
    source = make_source(FileSource(file=Path("run")), tmp_path)
    plain, remarked = (Pulled(each, RANKING, source) for each in (table, with_remarks(table, [REMARK])))
    assert plain.remarks == ()
    assert remarked.remarks == (REMARK,)
    assert plain.digest == remarked.digest
    path = tmp_path / "ranking.parquet"
    papq.write_table(remarked.table, path)
    assert papq.read_table(path).num_rows == 1
    assert Pulled(read_input_table(path, RANKING), RANKING, source).remarks == (REMARK,)
