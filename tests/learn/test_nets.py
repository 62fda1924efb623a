"""The nets of the table: shapes, sizes, initial weights; crop and flip against every crop."""

import pytest

torch = pytest.importorskip("torch")

from topbin.core.errors import InputError  # noqa: E402
from topbin.learn.nets import (  # noqa: E402
    NETS,
    build_net,
    crop_and_flip,
    mlp,
    resnet18,
)


def size(net):
    return sum(p.numel() for p in net.parameters())


@pytest.mark.parametrize(("name", "shape"), [("uci-mlp", (7,)), ("mlp", (2, 4))])
def test_fully_connected_nets_give_two_outputs(name, shape):
    net = build_net(name, shape)
    assert net(torch.zeros(3, *shape)).shape == (3, 2)


@pytest.mark.parametrize("build", [NETS["allconv"].build, resnet18])
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 28)])
def test_image_nets_take_images_of_any_size(build, shape):
    assert build(shape, width=4)(torch.zeros(2, *shape)).shape == (2, 2)


@pytest.mark.parametrize(
    ("name", "shape", "given", "larger"),
    [
        ("uci-mlp", (7,), (4, 4), (8, 8)),
        ("mlp", (7,), (4,), (8,)),
        ("allconv", (3, 8, 8), 2, 4),
        ("resnet18", (3, 8, 8), 2, 4),
    ],
)
def test_every_net_can_be_made_narrower(name, shape, given, larger):
    narrow, wide = (build_net(name, shape, size=each) for each in (given, larger))
    assert size(narrow) < size(wide)
    assert narrow(torch.zeros(2, *shape)).shape == (2, 2)


def test_sizes_are_those_of_the_papers():
    linear = [5000 * 785, 5000 * 5001, 50 * 5001, 2 * 51]
    assert size(mlp((28, 28))) == sum(linear)
    assert size(NETS["uci-mlp"].build((8,))) == 512 * 9 + 512 * 513 + 2 * 513
    assert size(resnet18((3, 32, 32))) == pytest.approx(11.17e6, rel=1e-3)
    assert size(NETS["allconv"].build((3, 32, 32))) == pytest.approx(1.37e6, rel=0.01)


def test_weights_are_xavier_and_biases_zero():
    first = build_net("uci-mlp", (100,)).requires_grad_(False)[1]
    bound = (6 / (100 + 512)) ** 0.5
    assert 0.99 * bound < first.weight.abs().max() <= bound
    assert first.weight.std() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert first.bias.abs().max() == 0


def test_the_seed_decides_and_nothing_else_is_touched():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, again, other = (build_net("uci-mlp", (5,), seed=s)[1].weight for s in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("name", NETS)
def test_every_net_gives_two_outputs_and_its_seed_decides(name):
    shape, small = ((3, 8, 8), 2) if NETS[name].images else ((6,), None)
    rows = torch.randn(4, *shape, generator=torch.Generator().manual_seed(0))
    nets = [build_net(name, shape, size=small, seed=seed).eval() for seed in (0, 0, 1)]
    first, again, other = (net(rows) for net in nets)
    assert first.shape == (4, 2)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_learning_rates_are_the_papers():
    rates = {"mlp": 0.05, "uci-mlp": 0.1, "allconv": 0.1, "resnet18": 0.1}
    assert {name: NETS[name].lr for name in rates} == rates


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("vgg", (3,), "TB007 no net is called 'vgg'; there are mlp"),
        ("resnet18", (8,), r"TB005 resnet18 takes rows of shape \(channels, height, width\)"),
        ("allconv", (32, 32, 3), r"TB005 a row of shape \(32, 32, 3\) looks channels-last"),
    ],
)
def test_bad_requests(name, shape, message):
    with pytest.raises(InputError, match=message):
        build_net(name, shape)


def every_crop(image, padding):
    _, h, w = image.shape
    padded = torch.nn.functional.pad(image, [padding] * 4)
    for top in range(2 * padding + 1):
        for left in range(2 * padding + 1):
            crop = padded[:, top : top + h, left : left + w]
            yield top, left, False, crop
            yield top, left, True, crop.flip(-1)


def test_each_image_is_one_of_its_crops_and_all_kinds_occur():
    torch.manual_seed(0)
    images = torch.rand(60, 2, 4, 5)
    kept = images.clone()
    seen = set()
    for image, changed in zip(images, crop_and_flip(images, padding=1), strict=True):
        match = [kind[:3] for kind in every_crop(image, 1) if torch.equal(kind[3], changed)]
        assert match
        seen |= set(match)
    assert len(seen) > 12
    assert torch.equal(images, kept)


def test_no_padding_only_flips():
    torch.manual_seed(0)
    images = torch.rand(40, 1, 3, 3)
    changed = crop_and_flip(images, padding=0)
    same = (changed == images).flatten(1).all(1)
    assert torch.equal(changed[~same], images[~same].flip(-1))
    assert 10 < same.sum() < 30
