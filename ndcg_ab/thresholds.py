"""Define the numbers of rows from which a faster or more frugal method is used, with equal results.

Every module looks up its number here at run time, so that tests can lower it. Limits beyond which something is left out
or shortened are defined beside the code that they limit.
"""

# DuckDB
FEW_ROWS = 50_000  # rows that were put; of no more, the work on a statement is more than the work on its rows
QUICKLY_MADE_ROWS = 1_000_000  # rows that were pulled; of no more, tables are made again in a moment
JOINED_ROWS = 1_000_000  # rows, of which texts become numbers by a join
SORTED_HASHES = 8_000_000  # hashes that are sorted in memory where it is limited
READ_ROWS = 1 << 16  # rows that are read at once
# scoring
COUNTED_RESULTS = 20_000  # results of one answer beyond which they are counted, and no object is made of each
BATCH_RESULTS = 250_000  # results that are recomputed together, of several systems or queries
# reading under a limit
FILE_ROWS = 200_000  # rows that are not worth a file
# Spark
SPARK_FEW_ROWS = 100_000  # rows of judgments and rankings whose tables stay in the executors' memory
SPARK_SEVERAL_ROWS = 10_000_000  # rows of judgments and rankings that are shuffled into fewer parts
SPARK_SENT_ROWS = 100_000  # rows of a table from here; with more it is written there, so that it is sent once
