"""Run the SQL files on Apache Spark; the only package that imports pyspark."""

from ndcg_ab.engines.spark.engine import SparkEngine, read_schema, survey_digest, survey_queries

__all__ = ["SparkEngine", "read_schema", "survey_digest", "survey_queries"]
