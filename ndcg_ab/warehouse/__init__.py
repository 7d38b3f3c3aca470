"""Write a metric as one SQL query for any database, for `ndcg-ab sql`."""
