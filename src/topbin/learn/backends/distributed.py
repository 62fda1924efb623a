"""Data-parallel training: several processes, started by torchrun, that train one net together.

Every process deals the same mini-batches and puts its share of each through the net. Logits are
gathered before the loss, so the loss, the clamp of nnPU and the counts of errors are those of the
whole mini-batch, and gradients are added, not averaged, which is right for unequal shares too.
The rest is as in DistributedDataParallel (Li et al., "PyTorch Distributed", VLDB 2020).
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from math import ceil

from topbin.core.errors import InputError
from topbin.learn.nets import Tensor, nn, torch

dist = torch.distributed
PATIENCE = 600.0  # seconds for which a process waits for the others


class Team:
    """This process and the others of the default process group; alone, it sends no messages."""

    def __init__(self, *, alone: bool = False) -> None:
        self.alone = alone
        self.rank, self.size = (0, 1) if alone else (dist.get_rank(), dist.get_world_size())
        self.leads = self.rank == 0

    def share(self, rows: Tensor) -> Tensor:
        """The rows that this process puts through the net: every size-th, at least one.

        A row that is another's share too is dropped by `whole`.
        """
        return rows[self.rank :: self.size] if rows.numel() > self.rank else rows[:1]

    def whole(self, z: Tensor, n: int) -> Tensor:
        """The logits of all n rows, from those of each share; only the own ones pass a gradient."""
        if self.alone:
            return z
        width = ceil(n / self.size)
        mine = z.new_zeros(width)
        mine[: z.numel()] = z
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        with _answered():
            dist.all_gather(parts, mine.detach().contiguous())
        parts[self.rank] = mine
        return torch.stack(parts).T.reshape(-1)[:n]

    def add_gradients(self, net: nn.Module) -> None:
        """Make each gradient the sum over processes, with one message for all of them."""
        if self.alone:
            return
        grads = [p.grad for p in net.parameters() if p.grad is not None]
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        with _answered():
            dist.all_reduce(flat)
        parts = torch.split(flat, [grad.numel() for grad in grads])
        for grad, part in zip(grads, parts, strict=True):
            grad.copy_(part.view_as(grad))

    def from_first(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite tensors with those of the first process."""
        with _answered():
            for tensor in () if self.alone else tensors:
                dist.broadcast(tensor, src=0)

    def check_same(self, **sizes: int) -> None:
        """Refuse processes that were given data of different sizes."""
        mine = torch.tensor(list(sizes.values()))
        first = mine.clone()
        self.from_first([first])
        if self.any(not torch.equal(mine, first)):
            raise InputError(
                "TB403",
                f"process {self.rank} has {sizes}, and not every other process has the same. Give "
                "each of them all rows, read and split with the same seed.",
            )

    def any(self, flag: bool) -> bool:
        """Whether it is true in some process; every process gets the same answer."""
        if self.alone:
            return flag
        any_flag = torch.tensor(int(flag))
        with _answered():
            dist.all_reduce(any_flag, op=dist.ReduceOp.MAX)
        return bool(any_flag)

    @contextmanager
    def own_randomness(self) -> Iterator[None]:
        """Random numbers drawn here, by dropout or augmentation, are this process's own.

        Afterwards all processes have the same random state as before, so they draw the same.
        """
        before = torch.get_rng_state()
        if not self.leads:
            torch.manual_seed(int(torch.randint(2**62, ())) + self.rank)
        yield
        if not self.alone:
            torch.set_rng_state(before)


ALONE = Team(alone=True)


def find_team() -> Team:
    """The processes that torchrun started, or those of a group that exists already.

    A group is started, with gloo, if the environment asks for more than one process.
    """
    if not dist.is_available():
        return ALONE
    if not dist.is_initialized() and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        try:
            dist.init_process_group("gloo", timeout=timedelta(seconds=PATIENCE))
        except (RuntimeError, ValueError) as error:
            raise InputError(
                "TB401",
                f"WORLD_SIZE asks for several processes, which cannot meet: {error}. Start them "
                "with torchrun, or unset WORLD_SIZE.",
            ) from error
    return Team() if dist.is_initialized() and dist.get_world_size() > 1 else ALONE


@contextmanager
def _answered() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise InputError(
            "TB403",
            f"another process of this training has died or does not answer: {error}. See its own "
            "error; then start all of them again, from a checkpoint if you have one.",
        ) from error
