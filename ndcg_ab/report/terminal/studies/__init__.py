"""What is printed of each study: what to judge next, how many queries, what the definition changes, and so on."""
