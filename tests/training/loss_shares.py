"""What sharing a loss saves and sends, with 1, 2 and 4 gloo processes of one thread each; by hand:

    python tests/training/loss_shares.py [rows] [width]

Tiles are counted, so that the arithmetic of a process does not depend on who else is at work on the machine; so are
bytes. Seconds are the processor's, of the slowest process, with as many classes of four as the rows make.
"""

import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

import lab
from lab.kernels import gathering, sharing
from lab.kernels.ranks import tiles

LOSSES = {
    "smooth_ap": {},
    "roadmap": {},
    "recall_at_k": {},
    "recall_at_k, simix": {"simix": True},
    "fast_ap": {},
    "blackbox_ap": {},
    "contextual": {},
}


def work(rank: int, world: int, place: str, rows: int, width: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{place}/store{world}", rank=rank, world_size=world)
    counted = []
    product = tiles.Tiles.product
    tiles.Tiles.product = lambda self, i, j: (counted.append(1), product(self, i, j))[1]
    torch.manual_seed(0)
    centres = torch.randn(rows // 4, width).repeat_interleave(4, 0)
    everyone, labels = centres + 1.5 * torch.randn(rows, width), torch.arange(rows) // 4
    sizes = sharing.Share(rank, world).even(rows)
    for name, knobs in LOSSES.items():
        loss, seconds = lab.losses.create(name.split(",")[0], **knobs), []
        for _ in range(3):
            leaf = everyone.clone().requires_grad_()
            counted.clear()
            before = time.process_time()
            with sharing.among(sharing.Share(rank, world)) as share:
                value = loss(leaf, labels)
            value.backward()
            if share.split:
                gathering.mean_of_own_rows(leaf.grad, sizes)
            seconds.append(time.process_time() - before)
        numbers = torch.tensor([len(counted), share.sent, leaf.grad.nbytes * (world - 1) / world, min(seconds)])
        most = gathering.of_all(numbers.double())
        if rank == 0:
            count, sums, rows_sent, took = torch.stack(most).amax(0).tolist()
            print(f"{name:20} {world} {count:6.0f} tiles {sums / 1e6:7.3f} MB {rows_sent / 1e6:7.3f} MB {took:7.3f} s")
    dist.destroy_process_group()


if __name__ == "__main__":
    size, wide = (int(word) for word in (sys.argv[1:] or ["4096", "512"]))
    with tempfile.TemporaryDirectory() as folder:
        for count in (1, 2, 4):
            processes.spawn(work, (count, folder, size, wide), nprocs=count)
