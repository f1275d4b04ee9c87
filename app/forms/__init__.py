"""Forms: fields and sliders for parameters, their labels, and a folder picker."""
