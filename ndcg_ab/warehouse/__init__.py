"""A metric as one query that anybody's database can run: what `ndcg-ab sql` prints."""
