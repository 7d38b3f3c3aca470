"""Click models: what clicks say of documents, from how often they were shown and clicked at which place."""
