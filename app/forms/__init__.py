"""Forms: knobs as fields and sliders, their labels, and a picker of folders."""
