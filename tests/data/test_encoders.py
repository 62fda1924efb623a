"""A frozen encoder from a folder: safe to load, run once per text, continued after a kill."""

import json
import tomllib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from coded import fails

import topbin as tb
from topbin.data import encoders, fit_features
from topbin.data.encoders import texts
from topbin.data.encoders.texts import Encoder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TOPBIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def folder(tmp_path, name="encoder"):
    """A folder that looks like an encoder."""
    place = tmp_path / name
    place.mkdir()
    (place / "config.json").write_text("{}")
    (place / "model.safetensors").write_bytes(b"weights")
    return place


@pytest.fixture
def counted(monkeypatch):
    """An encoder of two numbers, which counts the texts that it reads."""
    seen = SimpleNamespace(texts=0, dies_after=None, loaded=0)

    class Stand:
        def __init__(self, folder):
            seen.loaded += 1

        def encode(self, texts):
            if seen.dies_after is not None and seen.texts >= seen.dies_after:
                raise KeyboardInterrupt
            seen.texts += len(texts)
            rows = [[text.count("good"), text.count("bad")] for text in texts]
            return np.array(rows, np.float32)

    monkeypatch.setattr(texts, "_Loaded", Stand)
    return seen


def test_what_is_no_encoder(tmp_path):
    with fails("TB143", "is not a folder"):
        Encoder(str(tmp_path / "nowhere"))
    with fails("TB143", "has no config.json"):
        Encoder(str(tmp_path))
    place = folder(tmp_path)
    (place / "config.json").write_text('{"auto_map": {"AutoModel": "own.Model"}}')
    with fails("TB143", "wants to run code of its own"):
        Encoder(str(place))
    (place / "config.json").write_text("{")
    with fails("TB143", "cannot be read"):
        Encoder(str(place))
    (place / "config.json").write_text("{}")
    (place / "model.safetensors").rename(place / "pytorch_model.bin")
    with fails("TB143", "Other weights can hold code and are not loaded"):
        Encoder(str(place))


def test_texts_are_encoded_once_and_go_on_after_a_kill(tmp_path, cache, counted, monkeypatch):
    monkeypatch.setattr(encoders, "BLOCK", 10)
    encoder, words = Encoder(str(folder(tmp_path))), [f"{i} good" for i in range(35)]
    counted.dies_after = 20
    with pytest.raises(KeyboardInterrupt):
        encoder.vectors(words)
    counted.dies_after = None
    found = encoder.vectors(words)
    assert counted.texts == 35
    np.testing.assert_array_equal(found, [[1, 0]] * 35)
    encoder.vectors(words[::-1])
    assert counted.texts == 35
    encoder.vectors([*words, "one more", "one more"])
    assert counted.texts == 36
    (own,) = (cache / "vectors").iterdir()
    blocks = sorted(own.iterdir())
    assert len(blocks) == 5
    blocks[0].write_bytes(b"damaged")
    np.testing.assert_array_equal(encoder.vectors(words), found)
    Encoder(str(folder(tmp_path, "other"))).vectors(words[:1])
    assert 37 < counted.texts <= 47


def test_an_encoder_is_read_once_for_several_tables(tmp_path, counted, monkeypatch):
    """A column of texts is encoded when it is learned, and then part by part."""
    read = SimpleNamespace(weights=0)
    digest = texts.hashlib.file_digest

    def counting(handle, name):
        read.weights += 1
        return digest(handle, name)

    monkeypatch.setattr(texts.hashlib, "file_digest", counting)
    place, notes = folder(tmp_path), pd.DataFrame({"note": [f"{i} good" for i in range(20)]})
    features = fit_features(notes, text=["note"], encoder=str(place))
    for start in (20, 40):
        features.encode(pd.DataFrame({"note": [f"{i} bad" for i in range(start, start + 20)]}))
    assert (counted.texts, counted.loaded, read.weights) == (60, 1, 1)
    (place / "model.safetensors").write_bytes(b"other weights")
    with fails("TB143", "is not the one that the model was fitted with"):
        features.encode(notes)


def test_the_steps_of_an_encoder_are_those_that_its_folder_lists(tmp_path):
    place = folder(tmp_path)
    assert texts._steps(place) == ({}, False)
    steps = [{"type": f"sentence_transformers.models.{name}"} for name in texts.KNOWN_STEPS]
    (place / "modules.json").write_text(json.dumps(steps))
    (place / "1_Pooling").mkdir()
    (place / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert texts._steps(place) == ({"pooling_mode_cls_token": True}, True)
    (place / "modules.json").write_text(json.dumps([*steps, {"type": "own.Dense"}]))
    with fails("TB143", "has a step 'Dense'"):
        texts._steps(place)
    (place / "modules.json").write_text("3")
    with fails("TB143", "is not a list of steps"):
        texts._steps(place)


def test_a_fit_with_an_encoder(tmp_path, counted):
    rng = np.random.default_rng(0)
    good = np.arange(300) % 2 == 0
    words = {True: ["good", "film"], False: ["bad", "film"]}
    texts = [f"the {' '.join(rng.choice(words[bool(g)], 6))} nr {i}" for i, g in enumerate(good)]
    frame = pd.DataFrame({"review": texts, "known": good & (rng.random(300) < 0.5)})
    place = folder(tmp_path)
    result = tb.fit(frame, "known", read=tb.Read(encoder=str(place)), budget="fast")
    assert '1 text ("review")' in result.summary()
    assert result.data.X.shape == (300, 2)
    why = result.explain(5)
    assert why.names == ()  # a vector has no reasons
    assert {one.name[:4] for row in why.nearest for one in row} == {"row "}
    assert " good nr " in why.nearest[0][0].name  # how the text of a known positive begins
    run = result.save(tmp_path / "run")
    new = pd.DataFrame({"review": ["good good good film", "bad bad", None]})
    p = tb.load(run).score(new)["topbin_probability"]
    assert p[0] > 0.5 > p[1]
    (place / "config.json").write_text(json.dumps({"changed": True}))
    with fails("TB143", "is not the one that the model was fitted with"):
        tb.load(run).score(new)


def letters(texts):
    """Counts of a few letters, as an encoder."""
    return np.array([[text.count(c) for c in "aeiogbd"] for text in texts], np.float32)


def test_a_function_of_python_is_an_encoder_and_must_be_given_again(tmp_path):
    good = np.arange(200) % 2 == 0
    texts = [f"{'good ' if g else 'bad '}{'film ' * (i % 5)}" for i, g in enumerate(good)]
    frame = pd.DataFrame({"review": texts, "known": good & (np.arange(200) % 4 == 0)})
    read = tb.Read(text="review", encoder=letters)
    result = tb.fit(frame, "known", read=read, budget="fast")
    assert result.data.X.shape == (200, 7)
    run, new = result.save(tmp_path / "run"), pd.DataFrame({"review": ["good film", "bad film"]})
    p = tb.load(run, encoder=letters).score(new, why=True)
    assert p["topbin_probability"][0] > 0.5 > p["topbin_probability"][1]
    assert "good" in p["topbin_nearest_1"][0]
    assert result.score(new)["topbin_probability"].equals(p["topbin_probability"])
    with fails("TB143", 'vectors of the function "letters" of Python'):
        tb.load(run).score(new)
    with fails("TB143", '"len" is given'):
        tb.load(run, encoder=len).score(new)
    assert tomllib.loads((run / "run.toml").read_text())["encoder"] == "python:letters"
    for bad, words in ((lambda texts: np.ones(3), "shape"), (len, "shape"), (int, "failed")):
        with fails("TB143", words):
            tb.fit(frame, "known", read=tb.Read(text="review", encoder=bad))
    with fails("TB108", "text="):
        tb.fit(frame, "known", read=tb.Read(encoder=letters))
    with fails("TB008", "encoder"):
        tb.Read(encoder=3)


def test_no_text_for_the_encoder(tmp_path):
    with fails("TB108", "has no text to encode"):
        fit_features({"x": [1, 2]}, encoder=str(folder(tmp_path)))


def test_a_tiny_encoder(tmp_path):
    transformers = pytest.importorskip("transformers", reason='needs pip install "topbin[text]"')
    tokenizers = pytest.importorskip("tokenizers")
    import torch

    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "film", "the"]
    plain = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    )
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]"
    )
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(words), intermediate_size=32, **small)
    place = tmp_path / "tiny"
    transformers.BertModel(config).save_pretrained(place)
    fast.save_pretrained(place)
    found = Encoder(str(place)).vectors(["good film", "bad film", "good film the film"])
    assert found.shape == (3, 16)
    assert np.isfinite(found).all()
    alone = Encoder(str(place)).vectors(["good film"])
    np.testing.assert_allclose(alone[0], found[0], atol=1e-5)  # padding does not count
