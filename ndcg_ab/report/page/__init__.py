"""Write the report page of an evaluation."""
