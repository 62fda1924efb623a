"""torch for every file that needs it: without it, importing one of them names the extra."""

from typing import TYPE_CHECKING

from topbin.core.optional import require

if TYPE_CHECKING:
    import torch as torch
    from torch import Tensor as Tensor
    from torch import nn as nn
    from torch.utils.data import Dataset as Dataset
else:
    torch = require("torch", extra="torch", caller="a net")
    nn, Tensor, Dataset = torch.nn, torch.Tensor, torch.utils.data.Dataset
