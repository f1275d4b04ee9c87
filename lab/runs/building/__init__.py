"""From a configuration to the things that it names."""
