"""Rank sums of mixtures (SiMix) on CUDA, mixed inside the tile of their parents."""
