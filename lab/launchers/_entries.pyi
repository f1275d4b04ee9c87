from lab.launchers.local import Local as Local
from lab.launchers.ray import Ray as Ray
from lab.launchers.slurm import Slurm as Slurm
