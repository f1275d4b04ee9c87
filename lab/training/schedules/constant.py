from lab.training.schedules._base import Schedule


class Constant(Schedule):
    """The learning rate stays, after the warm-up."""
