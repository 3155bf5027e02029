"""amplint's own rule pack: one file a rule, in folders by what the rules are about."""
