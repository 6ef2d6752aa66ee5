"""A model and its optimizer, to and from PyTorch in a safetensors file.

    exchange.py            writes exchange.safetensors, which heed's test reads
    exchange.py FILE       reads a file that heed wrote, and goes on from it

The test is exchange_test.cpp: heed loads the file, computes what PyTorch did,
goes on training as PyTorch did, and writes the very same bytes again. Run with
HEED_EXCHANGE=FILE in its environment it leaves a file to be read here. Needs
Debian's python3-torch; the format itself takes NumPy and twenty lines.
"""

import json
import pathlib
import struct
import sys

import numpy as np
import torch
from torch import nn

TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64,
         "BOOL": np.bool_}


def save(path, tensors, metadata):
    arrays = {name: np.asarray(x, order="C") for name, x in tensors.items()}
    names = {np.dtype(t): name for name, t in TYPES.items()}
    header, end = {"__metadata__": dict(sorted(metadata.items()))}, 0
    order = sorted(arrays, key=lambda n: (-arrays[n].itemsize, n.encode()))
    for name in order:
        x, begin, end = arrays[name], end, end + arrays[name].nbytes
        header[name] = {"dtype": names[x.dtype], "shape": list(x.shape),
                        "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(arrays[name].tobytes() for name in order)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def load(path):
    data = pathlib.Path(path).read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    metadata = header.pop("__metadata__", {})
    return metadata, {
        name: torch.from_numpy(np.frombuffer(
            data[start:], TYPES[t["dtype"]], int(np.prod(t["shape"])),
            t["data_offsets"][0]).reshape(t["shape"]).copy())
        for name, t in header.items()}


VOCABULARY, D_MODEL, HEADS, D_FF, B, S, T = 11, 8, 2, 16, 3, 5, 4
ADAM = {"lr": 0.01, "betas": (0.9, 0.98), "eps": 1e-4}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, D_MODEL, padding_idx=0)
        self.norm = nn.LayerNorm(D_MODEL)
        self.attention = nn.MultiheadAttention(
            D_MODEL, HEADS, batch_first=True)
        self.transformer = nn.Transformer(
            D_MODEL, HEADS, num_encoder_layers=1, num_decoder_layers=2,
            dim_feedforward=D_FF, dropout=0, batch_first=True)
        self.output = nn.Linear(D_MODEL, VOCABULARY)

    def forward(self, src, tgt):
        padding = src == 0
        x = self.norm(self.embedding(src))
        x = x + self.attention(x, x, x, key_padding_mask=padding)[0]
        y = self.transformer(
            x, self.embedding(tgt), src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1))
        return self.output(y)


def step(model, optimizer, data):
    optimizer.zero_grad()
    logits = model(data["data.src"], data["data.tgt"])
    loss = nn.functional.cross_entropy(
        logits.flatten(0, 1), data["data.labels"].flatten(), ignore_index=0)
    loss.backward()
    optimizer.step()
    return logits.detach()


def prefixed(prefix, tensors):
    return {prefix + name: x for name, x in tensors.items()}


def below(prefix, tensors):
    return {name[len(prefix):]: x for name, x in tensors.items()
            if name.startswith(prefix)}


# Adam's state_dict() is nested; heed's, and a file's, has dotted names.


def optimizer_tensors(optimizer):
    state = optimizer.state_dict()
    tensors = {f"{i}.{key}": torch.as_tensor(x).long() if key == "step" else x
               for i, entry in state["state"].items()
               for key, x in entry.items()}
    for k, group in enumerate(state["param_groups"]):
        tensors[f"groups.{k}.lr"] = torch.tensor(
            group["lr"], dtype=torch.float64)
    steps = [x for name, x in tensors.items() if name.endswith(".step")]
    return {"step": max(steps), **tensors}


def load_optimizer(optimizer, tensors):
    state = optimizer.state_dict()
    for name, x in tensors.items():
        first, _, key = name.partition(".")
        if first.isdigit():
            entry = state["state"].setdefault(int(first), {})
            entry[key] = x.float() if key == "step" else x
    for k, group in enumerate(state["param_groups"]):
        group["lr"] = tensors[f"groups.{k}.lr"].item()
    optimizer.load_state_dict(state)


def write(path):
    random = np.random.RandomState(1706)
    model = Model()
    with torch.no_grad():
        for x in model.parameters():
            x += torch.from_numpy(
                random.uniform(-0.1, 0.1, x.shape).astype(np.float32))
    src = torch.from_numpy(random.randint(1, VOCABULARY, (B, S)))
    src[1, 3:] = 0
    data = {"data.src": src}
    for name in "tgt", "labels":
        data["data." + name] = torch.from_numpy(
            random.randint(1, VOCABULARY, (B, T)))
    data["data.labels"][2, 2:] = 0

    optimizer = torch.optim.Adam(model.parameters(), **ADAM)
    step(model, optimizer, data)
    step(model, optimizer, data)
    tensors = {**data, **prefixed("model.", model.state_dict()),
               **prefixed("optimizer.", optimizer_tensors(optimizer))}
    tensors = {name: x.clone() for name, x in tensors.items()}
    tensors["logits"] = step(model, optimizer, data)
    tensors |= prefixed("next.", model.state_dict())
    names = [name for name, _ in model.named_parameters()]
    save(path, {name: x.numpy() for name, x in tensors.items()},
         {"parameters": " ".join(names)})


def read(path):
    metadata, tensors = load(path)
    model = Model()
    model.load_state_dict(below("model.", tensors))  # strict: names and shapes
    names = [name for name, _ in model.named_parameters()]
    assert metadata["parameters"].split() == names
    optimizer = torch.optim.Adam(model.parameters(), **ADAM)
    load_optimizer(optimizer, below("optimizer.", tensors))
    logits = step(model, optimizer, tensors)
    expected = {"logits": logits, **prefixed("next.", model.state_dict())}
    for name, x in expected.items():
        error = (tensors[name] - x).abs().max().item()
        assert error <= 1e-5, (name, error)
    print(f"{path}: {len(tensors)} tensors; PyTorch goes on as heed did")


torch.manual_seed(1)
torch.set_num_threads(1)
if len(sys.argv) > 1:
    read(sys.argv[1])
else:
    write(pathlib.Path(__file__).with_name("exchange.safetensors"))
