"""What an evaluation found, as records: outcome, findings, decisions; how they are kept."""
