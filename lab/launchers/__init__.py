"""Launchers, one file each: where runs are trained.

`names()`, `create(name, **knobs)`, `from_address(address)`, `add(cls)`. `from_sent(place)` is the launcher that a run
was sent to; `send(runs, to)` hands runs over and does not wait.

The queue of this machine needs nothing; a Ray cluster and Slurm are extras. All train the same run folders by the same
code, so a run that was stopped on one launcher can be resumed on another.

Example (`run` is a run of `lab.runs`, waiting):
    >>> import lab
    >>> lab.launchers.names()
    ('local', 'ray', 'slurm')
    >>> lab.launchers.from_address("ray://head:10001").knobs.address
    'ray://head:10001'
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
