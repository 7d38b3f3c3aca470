"""The Python API of `import ndcg_ab`: the commands as functions over files, tables and dictionaries."""
