"""What the translation adds to the grammar: where the same words mean something else on Spark."""

import pytest
import sqlglot

from ndcg_ab.engines.dialects import translate_for_spark
from ndcg_ab.engines.sql_files import SqlFile, pipeline_files

SAID = {
    "select 1.0 / first_rank as value, from query_dcg": "SELECT 1.0e0 / first_rank AS value FROM query_dcg",
    "select 1e-6, '1.0', 10, from a": "SELECT 1e-6, '1.0', 10 FROM a",
    "select a, from b where c <= $depth and $everything": "SELECT a FROM b WHERE c <= :depth AND :everything",
    'select "a" from "b" order by a': "SELECT `a` FROM `b` ORDER BY a NULLS LAST",
    "select list(grade order by rank) as grades, from a": (
        "SELECT TRANSFORM(ARRAY_SORT(COLLECT_LIST(STRUCT(rank AS key, grade AS value))), each -> each.value)"
        " AS grades FROM a"
    ),
    "select list(a) as all_of_them, from b": "SELECT COLLECT_LIST(a) AS all_of_them FROM b",
    "select row_number() over (partition by q order by { 's': s, 'd': d } desc) as rank, from a": (
        "SELECT ROW_NUMBER() OVER (PARTITION BY q ORDER BY STRUCT(s AS s, d AS d) DESC) AS rank FROM a"
    ),
}


@pytest.mark.parametrize("text", SAID)
def test_what_is_said_to_spark(text: str) -> None:
    assert translate_for_spark(text) == SAID[text]


@pytest.mark.parametrize("file", pipeline_files().values(), ids=lambda file: file.name)
def test_every_file_can_be_said(file: SqlFile) -> None:
    said = translate_for_spark(file.text)
    assert "$" not in said and "--" not in said and "/*" not in said
    assert {each.name for each in sqlglot.parse_one(said, read="spark").find_all(sqlglot.exp.Placeholder)} == {
        *file.params
    }


def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(ValueError, match="falling order"):
        translate_for_spark("select list(a order by b desc) as c, from d")
