"""LibCST trees of documents: parsing, positions and qualified names. Importing this package imports LibCST."""
