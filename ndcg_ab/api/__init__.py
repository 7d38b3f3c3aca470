"""The Python API behind `import ndcg_ab`: what the commands over files do, over tables and dictionaries too."""
