"""Assess the judgments: unjudged results, agreement of judges, proxy judgments, and sources of judgments."""
