"""amplint's own matters."""
