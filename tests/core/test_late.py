"""Modules that are loaded when they are used: what needs nothing of them goes without, what needs them gets them."""

import subprocess
import sys
import textwrap

import pytest


def told(script: str) -> list[str]:
    """What a process of its own says."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


def test_a_training_takes_its_first_steps_without_the_compiler_and_statistics(tmp_path):
    words = (
        f"train --loss contrastive --sampler.batch_size 32 --training.steps 2 --augmentation.size 16 --runs {tmp_path}"
    )
    words += " --encoder.width 4 --data.test 0.04 --data.validation 0.04 --training.device cpu --evaluation.splits none"
    assert (
        told(f"""
        import sys
        from lab.__main__ import main
        main({words.split()!r})
        print(*(name for name in ("torch._dynamo", "scipy.stats") if name in sys.modules))
    """)
        == []
    )


def test_who_needs_them_behind_the_blocks_gets_them():
    """An optimiser that was made before the compiler steps inside a compiled function as one that was made after."""
    assert told("""
        import sys, torch
        from lab.core.late import without_compiler, without_statistics
        from lab.data.images.torchvision_v2 import v2
        assert "torch._dynamo" not in sys.modules and "torch._dynamo.utils" not in sys.modules
        def made():
            weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
            return weight, torch.optim.Adam([weight], lr=0.1)
        def step(weight, optimiser):
            (weight**2).sum().backward()
            optimiser.step()
            optimiser.zero_grad()
            return float(weight.detach().sum())
        with without_compiler():
            plain = step(*(early := made()))
        compiled = torch.compile(lambda x: x.sin() + 1, backend="eager")
        assert torch.equal(compiled(torch.zeros(2)), torch.ones(2)) and "torch._dynamo" in sys.modules
        assert step(*made()) == plain and step(*early) < plain
        import torchvision
        assert sys.modules["torchvision.ops.roi_align"].is_compile_supported("cpu")
        with without_statistics():
            import scipy.stats._qmc
            import scipy.stats as early
            print(early.rankdata([3.0, 1.0]).sum())
        import scipy.stats
        print(scipy.stats.rankdata([3.0, 1.0]).sum(), scipy.stats.__file__ is not None)
        inside = sys.modules["scipy.stats._qmc"]
        assert scipy.stats._qmc is inside and scipy.stats.qmc.Sobol is inside.Sobol, "it was loaded twice"
        assert inside.__spec__.origin == inside.__file__ and "_Inside" not in str(sys.meta_path)
    """) == ["3.0", "3.0", "True"]


def test_a_block_leaves_what_is_loaded_as_it_is(monkeypatch):
    from lab.core import late

    real = pytest.importorskip("scipy.stats")
    with late.without_statistics():
        assert sys.modules["scipy.stats"] is real
    assert sys.modules["scipy.stats"] is real
