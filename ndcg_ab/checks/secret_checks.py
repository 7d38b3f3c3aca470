"""Findings about the configuration itself: secrets that are in it in plain text."""

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.plain_secrets import find_plain_secrets
from ndcg_ab.results.outcome import Finding

SHOWN = 3  # keys in a message


def check_secrets(evaluation: Evaluation) -> list[Finding]:
    """Says which keys hold what looks like a secret."""
    keys = list(dict.fromkeys(find_plain_secrets(evaluation.model_dump(mode="json"))))
    if not keys:
        return []
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    holds = "holds" if len(keys) == 1 else "hold"
    message = (
        f"{', '.join(keys[:SHOWN])}{more}: {holds} what looks like a secret in plain text: name it by reference"
        " ({env: NAME}, {file: PATH} or {prefect: BLOCK}), and change the secret if others could read the file"
    )
    return [Finding("plain_secret", "warning", message, len(keys))]
