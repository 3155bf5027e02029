"""What Acme's training code agrees on beside amplint's own rules."""

from acme_amp_rules.autocast_without_dtype import AutocastWithoutDtype

RULES = (AutocastWithoutDtype,)
