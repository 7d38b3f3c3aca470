"""Write a metric as one SQL query for any database; the command `ndcg-ab sql` prints it."""
