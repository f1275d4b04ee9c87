"""Ray Train's TorchTrainer starts `lab train` in two processes; by hand, since Ray Train takes a minute to start:

    python tests/launchers/torch_trainer.py FOLDER

Ends with an error unless both processes trained one run to its end.
"""

import os
import sys
from pathlib import Path

STEPS = 4


def worker(config: dict) -> None:
    """What each process of Ray Train runs: the command, as torchrun would start it."""
    from lab.__main__ import main

    if main(config["words"]):
        raise RuntimeError("lab train failed.")
    (Path(config["folder"]) / f"rank-{os.environ['RANK']}-of-{os.environ['WORLD_SIZE']}").touch()


def main(folder: Path) -> None:
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    words = [
        "train",
        "--data",
        "emoji7",
        "--data.test",
        "0.04",
        "--data.validation",
        "0.04",
        "--encoder",
        "small_cnn",
    ]
    words += ["--augmentation.size", "16", "--sampler.batch_size", "20", "--loss", "smooth_ap"]
    words += [
        "--training.steps",
        str(STEPS),
        "--training.device",
        "cpu",
        "--runs",
        str(folder),
        "--name",
        "by-ray",
    ]
    for patience in ("RAY_raylet_start_wait_time_s", "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S"):
        os.environ.setdefault(patience, "300")  # on starved cores Ray gives up on what is only slow
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100_000_000)
    TorchTrainer(
        worker,
        train_loop_config={"words": words, "folder": str(folder)},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=str(folder / "ray"), name="by-ray"),
    ).fit()
    ray.shutdown()

    import lab.runs

    run = lab.runs.open("by-ray", folder)
    assert run.state == "finished" and run.status["step"] == STEPS, run.status
    assert sorted(path.name for path in folder.glob("rank-*")) == ["rank-0-of-2", "rank-1-of-2"]
    print("Ray Train's two processes trained", run.path)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
