# What `lab.launchers` holds. A launcher is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import Launcher as Launcher
from ._base import knob as knob
from ._catalog import add as add
from ._catalog import create as create
from ._catalog import get as get
from ._catalog import names as names
from ._sending import from_address as from_address
from ._sending import from_sent as from_sent
from ._sending import send as send
from .local import Local as Local
from .ray import Ray as Ray
from .slurm import Slurm as Slurm
