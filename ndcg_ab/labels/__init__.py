"""What labels can and cannot say: bounds, likely grades, judges, proxy judgments."""
