"""Run the SQL files on Apache Spark; the only package that imports pyspark."""

from ndcg_ab.engines.spark.engine import SparkEngine, digest_summary, read_schema, summarize_queries

__all__ = ["SparkEngine", "digest_summary", "read_schema", "summarize_queries"]
