"""What labels can and cannot say: unjudged results, judges, proxy judgments."""
