"""What every process of a team runs, and what one process runs alone, for test_distributed.

`python together.py FOLDER PORT…` forks the two processes of each job, one port per job, each with
the environment that torchrun sets; so torch is imported once, not six times.
"""

import json
import os
import signal
import sys
import time
import traceback
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import nn

from topbin.core.errors import TopbinError
from topbin.learn import LEARNERS, train
from topbin.learn.backends import checkpoint, distributed
from topbin.learn.backends.torch import TorchBackend, mean_losses
from topbin.learn.nets import Optim

ALPHA = 0.4
SECONDS = 300  # until a process that hangs is ended
JOBS = ("sleep", "die", "learn")
EPOCHS = {"pvu": 4, "nnpu": 4, "cvir": 4, "tedn": 4}


def rows(n, shift=0.0, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) + shift


# Sizes that no batch and no team divides evenly.
DATA = rows(13, 1.0), np.concatenate([rows(21, -1.0, 1), rows(10, 1.0, 2)])
HELD = rows(40, 1.0, 3), np.concatenate([rows(40, -1.0, 4), rows(20, 1.0, 5)])


class Watched(TorchBackend):
    """Notes in how many mini-batches nnPU's clamp would differ on this process's share alone."""

    clamped = differs = 0

    def _pair(self, X_p, rows_p, X_u, rows_u):
        z_p, z_u = super()._pair(X_p, rows_p, X_u, rows_u)
        rank, size = getattr(self.team, "rank", 0), getattr(self.team, "size", 1)
        risk = LEARNERS["nnpu"].at(ALPHA)
        every, own = (
            bool(risk.negative_part(*mean_losses(p, u, "sigmoid")[1:]) < 0)
            for p, u in ((z_p, z_u), (z_p[rank::size], z_u[rank::size]))
        )
        self.clamped += every
        self.differs += every != own
        return z_p, z_u


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()


def model_for(name, team, seed=0):
    optim = Optim(lr=0.5) if name == "nnpu" else Optim(lr=0.05)
    return Watched(net(seed), optim, batch=7, seed=1, team=team)


def numbers(model, history):
    weights = torch.cat([p.detach().reshape(-1) for p in model.net.parameters()])
    found = {"history": [asdict(epoch) for epoch in history], "weights": weights.tolist()}
    return found | {"clamped": model.clamped, "differs": model.differs}


def run(name, model, done=(), epochs=None):
    learner = LEARNERS[name]
    return train(
        model, learner, *DATA,
        alpha=ALPHA if learner.needs_alpha else None,
        holdout=HELD, epochs=epochs or EPOCHS[name], warm_start=2 if name == "tedn" else 0,
        done=done,
    )  # fmt: skip


def learn(team, folder):
    """Every learner; then (TED)ⁿ interrupted and resumed; then fewer rows than processes."""
    found = {}
    for name in EPOCHS:
        # A net of one's own would begin elsewhere in each process; all take the first one's.
        model = model_for(name, team, seed=0 if team.leads else 9)
        found[name] = numbers(model, list(run(name, model)))
    path = Path(folder) / "tedn.safetensors"
    begun = model_for("tedn", team)
    for epoch in checkpoint.keep(path, begun, run("tedn", begun)):
        if epoch.epoch == 3:
            break
    team.any(False)  # the first process has written
    again = model_for("tedn", team)
    done = checkpoint.load(path, again)
    rest = list(checkpoint.keep(path, again, run("tedn", again, done), done))
    found["resumed"] = numbers(again, [*done, *rest])
    few = TorchBackend(net(), Optim(), batch=2, seed=1, team=team)
    few.clamped = few.differs = 0
    one = train(few, LEARNERS["pvu"], DATA[0][:1], DATA[1][:3], epochs=2)
    found["few"] = numbers(few, list(one))
    return found


def unlike(team):
    """What is said when the processes have different numbers of rows."""
    data = DATA[0][: 13 - team.rank], DATA[1]
    try:
        model_for("pvu", team).epoch(*data, LEARNERS["pvu"].at(None))
    except TopbinError as error:
        return str(error)


class Failing(nn.Module):
    """In the second process its fifth mini-batch ends badly."""

    def __init__(self, how):
        super().__init__()
        self.net, self.how, self.seen = net(), how, 0

    def forward(self, x):
        self.seen += self.training
        if self.seen == 5 and os.environ["RANK"] == "1":
            if self.how == "die":
                os._exit(3)
            time.sleep(60)
        return self.net(x)


def one_of_two(job, folder):
    """What one process does."""
    here = Path(folder) / f"rank-{os.environ['RANK']}.json"
    here.write_text("{}")
    while len(list(Path(folder).glob("rank-*.json"))) < 2:
        time.sleep(0.05)  # importing takes each of them its time, and patience is short
    distributed.PATIENCE = 5.0 if job == "sleep" else 240.0
    team = distributed.find_team()
    if job == "learn":
        here.write_text(json.dumps(learn(team, folder) | {"unlike": unlike(team)}))
    else:
        list(run("pvu", TorchBackend(Failing(job), Optim(), batch=7, team=team), epochs=9))


def start(job, folder, port, rank):
    """Fork a process of a team; its last words go to a file."""
    if pid := os.fork():
        return pid
    said = os.open(folder / f"rank-{rank}.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 2)
    os.environ |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ["RANK"] = str(rank)
    code = 1
    try:
        one_of_two(job, folder)
        code = 0
    except TopbinError as error:
        print(error, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def code_of(pid, seconds):
    """The exit code of a process, which is ended if it is still there after these seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if (found := os.waitpid(pid, os.WNOHANG))[0]:
            return os.waitstatus_to_exitcode(found[1])
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(folder, *ports):
    """Exit codes of each job's processes; those that outlive the first one's end are ended."""
    folder, teams = Path(folder), {}
    torch.optim.SGD(net().parameters(), 0.1).zero_grad()  # the first one imports for seconds
    for job, port in zip(JOBS, ports, strict=True):
        (folder / job).mkdir()
        teams[job] = [start(job, folder / job, port, rank) for rank in range(2)]
    codes = {}
    for job, (first, second) in teams.items():
        codes[job] = [code_of(first, SECONDS), code_of(second, 0.5 if job == "sleep" else 5)]
    (folder / "codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main(*sys.argv[1:])
