"""Recognise the forms of files (layouts of tools such as Quepid, ranx or trec_eval) by their first lines."""
