"""Write a metric as one SQL query for any database, which `ndcg-ab sql` prints."""
