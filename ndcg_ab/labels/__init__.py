"""Assess judgments: unjudged results, agreement of judges, proxy judgments."""
