#!/usr/bin/python3
"""Writes what PyTorch computes to small JSON files beside this script.

    /usr/bin/python3 tests/parity/generate.py

The tests read the files and need no PyTorch. README.md says how a file is laid
out and how its tensors are named. Inputs are exact in float32, results come
from float64; that PyTorch's own float32 run agrees with them is checked here.
Every case draws its numbers from a generator seeded with its own name: a new
case changes no other, and a second run writes the same bytes.
"""

import json
import math
import os
import pathlib
import zlib

# The oldest kernels, so that every machine gets the same last digits.
os.environ.update(OPENBLAS_CORETYPE="Prescott", ATEN_CPU_CAPABILITY="default")

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.stateless import functional_call

FOLDER = pathlib.Path(__file__).resolve().parent
FLOAT32_TOLERANCE = 1e-5  # of a tensor's largest value, as in parity.h


# --- numbers -----------------------------------------------------------------


def exactly(x):
    """Rounds to multiples of 1/64: short to write, exact in both precisions."""
    return torch.tensor(np.round(np.asarray(x) * 64) / 64, dtype=torch.float64)


class Draw:
    """The random numbers of one case."""

    def __init__(self, name):
        self.random = np.random.RandomState(zlib.crc32(name.encode()))

    def normal(self, *shape, std=1.0, mean=0.0):
        return exactly(mean + std * self.random.standard_normal(shape))

    def distinct(self, *shape):
        """Normal-sized numbers without ties, in random order."""
        n = math.prod(shape)
        return exactly((self.random.permutation(n).reshape(shape) - n / 2) / 8)

    def ids(self, high, *shape, low=0):
        return torch.from_numpy(self.random.randint(low, high, shape))

    def parameter(self, name, shape):
        """Weights of variance 1/fan_in, scales near 1, biases near 0."""
        if len(shape) > 1:
            return self.normal(*shape, std=shape[-1] ** -0.5)
        mean = 1.0 if name.endswith("weight") else 0.0
        return self.normal(*shape, std=0.25, mean=mean)

    def state(self, module):
        return {
            "state." + name: self.parameter(name, tuple(tensor.shape))
            for name, tensor in module.state_dict().items()
        }


# --- a case ------------------------------------------------------------------


def is_float(tensor):
    return tensor.dtype in (torch.float32, torch.float64)


def wants_gradient(name, tensor):
    return is_float(tensor) and name.startswith(("input.", "state."))


def check_float32(name, got, expected):
    error = (got.double() - expected).abs().max() if got.numel() else 0
    scale = expected.abs().max() if got.numel() else 1
    if error > FLOAT32_TOLERANCE * (scale or 1):
        raise AssertionError(f"{name}: float32 is off by {error} of {scale}")


def make_case(given, compute, options):
    """A case: what is given, and what compute(tensors) makes of it."""

    def run(dtype):
        return compute({
            name: tensor.to(dtype, copy=True) if is_float(tensor) else tensor
            for name, tensor in given.items()
        })

    results = run(torch.float64)
    for name, tensor in run(torch.float32).items():
        check_float32(name, tensor, results[name])
    return {"options": options, "tensors": {**given, **results}}


def differentiated(draw, given, forward, options):
    """A case of forward's results and, for a fixed random cotangent of the one
    called "output", the gradients of all inputs and parameters."""
    cotangent = draw.normal(*forward(given)["output"].shape)

    def compute(tensors):
        leaves = {
            name: tensor.requires_grad_()
            for name, tensor in tensors.items()
            if wants_gradient(name, tensor)
        }
        results = forward(tensors)
        gradients = torch.autograd.grad(
            results["output"], list(leaves.values()), tensors["cotangent"])
        for name, gradient in zip(leaves, gradients):
            results["grad." + name] = gradient
        return results

    return make_case({**given, "cotangent": cotangent}, compute, options)


def module_case(draw, module, given, call, **options):
    """A case of a module: call(m, tensors) runs it as m(...). The module stays
    in training mode, where PyTorch takes no fast path of its own."""
    state = {**draw.state(module), **given.pop("state", {})}

    def forward(tensors):
        parameters = {
            name[len("state."):]: tensor
            for name, tensor in tensors.items()
            if name.startswith("state.")
        }

        def m(*args, **kwargs):
            return functional_call(module, parameters, args, kwargs)

        results = call(m, tensors)
        return results if isinstance(results, dict) else {"output": results}

    return differentiated(draw, {**state, **given}, forward, options)


def function_case(draw, given, call, **options):
    def forward(tensors):
        results = call(tensors)
        return results if isinstance(results, dict) else {"output": results}

    return differentiated(draw, given, forward, options)


# --- layers ------------------------------------------------------------------


def layers():
    cases = {}

    def linear(name, bias, *shape):
        draw = Draw(name)
        cases[name] = module_case(
            draw, nn.Linear(5, 3, bias=bias),
            {"input.x": draw.normal(*shape, 5)},
            lambda m, t: m(t["input.x"]),
            in_features=5, out_features=3, bias=bias)

    linear("linear", True, 4)
    linear("linear without bias", False, 4)
    linear("linear of rank 3", True, 2, 3)
    linear("linear of a vector", True)

    def embedding(name, padding_idx):
        draw = Draw(name)
        module = nn.Embedding(7, 4, padding_idx=padding_idx)
        weight = draw.normal(7, 4)
        if padding_idx is not None:
            weight[padding_idx] = 0
        ids = torch.tensor([[1, 3, 3, 6, 0], [2, 0, 3, 0, 0]])
        cases[name] = module_case(
            draw, module, {"state": {"state.weight": weight}, "input.ids": ids},
            lambda m, t: m(t["input.ids"]),
            num_embeddings=7, embedding_dim=4, padding_idx=padding_idx)

    embedding("embedding", None)
    embedding("embedding with padding", 0)

    def layer_norm(name, affine, *shape, eps=1e-5):
        draw = Draw(name)
        cases[name] = module_case(
            draw, nn.LayerNorm(shape[-1], eps=eps, elementwise_affine=affine),
            {"input.x": draw.normal(*shape, std=2, mean=1)},
            lambda m, t: m(t["input.x"]),
            d_model=shape[-1], affine=affine, eps=eps)

    layer_norm("layer_norm", True, 4, 6)
    layer_norm("layer_norm without affine", False, 4, 6)
    layer_norm("layer_norm of rank 3", True, 2, 3, 6)
    layer_norm("layer_norm of a vector", True, 6)
    layer_norm("layer_norm with large eps", True, 4, 6, eps=0.125)

    activations = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": F.silu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
    }
    for name, function in activations.items():
        draw = Draw(name)
        x = torch.cat([
            exactly([0, 0.015625, -0.015625, 1, -1, 6, -6, 12, -12, 40, -40]),
            draw.normal(13, std=2)])
        cases["activation " + name] = function_case(
            draw, {"input.x": x.reshape(4, 6)},
            lambda t, function=function: function(t["input.x"]),
            activation=name)
    return cases


# --- attention ---------------------------------------------------------------


def causal(T, S):
    """True = may not attend; the last query sees every key."""
    return torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)


def padding(lengths, S):
    """True = padding, of sequences of the given lengths."""
    return torch.arange(S)[None, :] >= torch.tensor(lengths)[:, None]


def some_mask(draw, *shape):
    """A random bool mask that leaves every query its first key."""
    mask = torch.from_numpy(draw.random.rand(*shape) < 0.4)
    mask[..., 0] = False
    return mask


def additive(draw, hidden):
    """A float mask: added to the scores, -inf where hidden."""
    return draw.normal(*hidden.shape).masked_fill(hidden, -math.inf)


def attention():
    cases = {}
    B, T, S, D, H = 2, 3, 5, 8, 2

    def case(name, cross=False, queries=T, masks=None, causally=False,
             bias=True, average=True):
        draw = Draw(name)
        inputs = {"input.query": draw.normal(B, queries, D)}
        if cross:
            inputs["input.key"] = draw.normal(B, S, D)
            inputs["input.value"] = draw.normal(B, S, D)
        keys = S if cross else queries
        given = masks(draw, queries, keys) if masks else {}

        def call(m, t):
            query = t["input.query"]
            mask = t.get("mask.attn_mask")
            if causally:
                mask = causal(queries, keys)
            if mask is not None and mask.dim() == 4:  # PyTorch wants rank 3
                mask = mask.expand(B, H, queries, keys).flatten(0, 1)
            output, weights = m(
                query, t.get("input.key", query), t.get("input.value", query),
                key_padding_mask=t.get("mask.key_padding_mask"),
                attn_mask=mask, average_attn_weights=average)
            return {"output": output, "weights": weights}

        module = nn.MultiheadAttention(D, H, bias=bias, batch_first=True)
        cases[name] = module_case(
            draw, module, {**inputs, **given}, call, d_model=D, num_heads=H,
            bias=bias, is_causal=causally, average_weights=average)

    def key_padding(draw, queries, keys):
        return {"mask.key_padding_mask": padding([keys, keys - 2], keys)}

    def bool_mask(draw, queries, keys):
        return {"mask.attn_mask": some_mask(draw, queries, keys)}

    def float_mask(draw, queries, keys):
        hidden = some_mask(draw, queries, keys)
        return {"mask.attn_mask": additive(draw, hidden)}

    def mask_per_head(draw, queries, keys):
        hidden = some_mask(draw, B, H, queries, keys)
        return {"mask.attn_mask": additive(draw, hidden)}

    def padding_and_float_mask(draw, queries, keys):
        return {**key_padding(draw, queries, keys),
                **float_mask(draw, queries, keys)}

    case("self")
    case("self without bias", bias=False)
    case("self causal", causally=True)
    case("self causal with padding", causally=True, masks=key_padding)
    case("self weights per head", average=False, masks=float_mask)
    case("cross", cross=True)
    case("cross with padding", cross=True, masks=key_padding)
    case("cross bool mask", cross=True, masks=bool_mask)
    case("cross float mask", cross=True, masks=float_mask)
    case("cross mask per head", cross=True, masks=mask_per_head, average=False)
    case("cross causal", cross=True, queries=2, causally=True)
    case("cross padding and float mask", cross=True,
         masks=padding_and_float_mask, average=False)
    return cases


# --- Transformer layers and stacks -------------------------------------------


def transformer_layers():
    cases = {}
    B, T, S, D, H, FF = 2, 4, 5, 8, 2, 12

    def layer(kind, norm_first, activation):
        return kind(D, H, FF, dropout=0, activation=activation,
                    norm_first=norm_first, batch_first=True)

    def encoder(name, norm_first=False, activation="relu", masks=None,
                num_layers=None, final_norm=False):
        draw = Draw(name)
        module = layer(nn.TransformerEncoderLayer, norm_first, activation)
        mask_name = "src_mask"
        if num_layers:
            mask_name = "mask"
            module = nn.TransformerEncoder(
                module, num_layers, nn.LayerNorm(D) if final_norm else None)
        given = {"input.src": draw.normal(B, S, D),
                 **(masks(draw) if masks else {})}

        def call(m, t):
            return m(t["input.src"], **{mask_name: t.get("mask.src_mask")},
                     src_key_padding_mask=t.get("mask.src_key_padding_mask"))

        cases[name] = module_case(
            draw, module, given, call, d_model=D, num_heads=H, d_ff=FF,
            activation=activation, norm_first=norm_first,
            num_layers=num_layers, final_norm=final_norm)

    def decoder(name, norm_first=False, activation="relu", masks=None,
                causally=True, num_layers=None, final_norm=False):
        draw = Draw(name)
        module = layer(nn.TransformerDecoderLayer, norm_first, activation)
        if num_layers:
            module = nn.TransformerDecoder(
                module, num_layers, nn.LayerNorm(D) if final_norm else None)
        given = {"input.tgt": draw.normal(B, T, D),
                 "input.memory": draw.normal(B, S, D),
                 **(masks(draw) if masks else {})}

        def call(m, t):
            tgt_mask = causal(T, T) if causally else t.get("mask.tgt_mask")
            return m(t["input.tgt"], t["input.memory"], tgt_mask=tgt_mask,
                     **{name: t.get("mask." + name) for name in (
                         "memory_mask", "tgt_key_padding_mask",
                         "memory_key_padding_mask")})

        cases[name] = module_case(
            draw, module, given, call, d_model=D, num_heads=H, d_ff=FF,
            activation=activation, norm_first=norm_first,
            tgt_is_causal=causally, num_layers=num_layers,
            final_norm=final_norm)

    def src_padding(draw):
        return {"mask.src_key_padding_mask": padding([S, 3], S)}

    def src_float_mask(draw):
        return {"mask.src_mask": additive(draw, some_mask(draw, S, S))}

    def both_paddings(draw):
        return {"mask.tgt_key_padding_mask": padding([3, T], T),
                "mask.memory_key_padding_mask": padding([S, 2], S)}

    def both_masks(draw):
        return {"mask.tgt_mask": additive(draw, some_mask(draw, T, T)),
                "mask.memory_mask": some_mask(draw, T, S)}

    encoder("encoder_layer post-norm relu")
    encoder("encoder_layer post-norm gelu padding", activation="gelu",
            masks=src_padding)
    encoder("encoder_layer pre-norm relu padding", norm_first=True,
            masks=src_padding)
    encoder("encoder_layer pre-norm gelu float mask", norm_first=True,
            activation="gelu", masks=src_float_mask)
    decoder("decoder_layer post-norm relu")
    decoder("decoder_layer post-norm gelu masks", activation="gelu",
            causally=False, masks=both_masks)
    decoder("decoder_layer pre-norm relu padding", norm_first=True,
            masks=both_paddings)
    decoder("decoder_layer pre-norm gelu", norm_first=True, activation="gelu")
    encoder("encoder post-norm", num_layers=2, masks=src_padding)
    encoder("encoder pre-norm", num_layers=2, norm_first=True, final_norm=True,
            activation="gelu", masks=src_padding)
    decoder("decoder post-norm", num_layers=2, masks=both_paddings)
    decoder("decoder pre-norm", num_layers=2, norm_first=True, final_norm=True,
            activation="gelu", masks=both_paddings)
    return cases


# --- losses ------------------------------------------------------------------


def losses():
    cases = {}
    reductions = ("mean", "sum", "none")
    N, V = 6, 5

    def case(name, draw, given, call, **options):
        for reduction in reductions:
            cases[f"{name} {reduction}"] = function_case(
                draw, given, lambda t: call(t, reduction), reduction=reduction,
                **options)

    def class_ids(draw, ignore_index):
        target = draw.ids(V, N)
        if ignore_index is not None:
            target[target == ignore_index] = 1
            target[[1, 4]] = ignore_index
        return target

    def cross_entropy(name, ignore_index=None, label_smoothing=0.0, std=2.0):
        draw = Draw(name)
        given = {"input.logits": draw.normal(N, V, std=std),
                 "target": class_ids(draw, ignore_index)}
        case(name, draw, given,
             lambda t, reduction: F.cross_entropy(
                 t["input.logits"], t["target"], reduction=reduction,
                 ignore_index=-100 if ignore_index is None else ignore_index,
                 label_smoothing=label_smoothing),
             ignore_index=ignore_index, label_smoothing=label_smoothing)

    cross_entropy("cross_entropy")
    cross_entropy("cross_entropy ignoring", ignore_index=-100)
    cross_entropy("cross_entropy smoothed", label_smoothing=0.1)
    cross_entropy("cross_entropy ignoring smoothed", ignore_index=0,
                  label_smoothing=0.1)
    cross_entropy("cross_entropy large logits", std=200.0, label_smoothing=0.1)

    draw = Draw("cross_entropy sequences")
    sequences = {"input.logits": draw.normal(2, 3, V),
                 "target": torch.tensor([[1, 4, 2], [3, 0, 0]])}
    case("cross_entropy sequences", draw, sequences,
         lambda t, reduction: F.cross_entropy(
             t["input.logits"].transpose(1, 2), t["target"], ignore_index=0,
             label_smoothing=0.1, reduction=reduction),
         ignore_index=0, label_smoothing=0.1)

    def nll(name, ignore_index=None):
        draw = Draw(name)
        given = {"input.log_probs": -draw.normal(N, V).abs(),
                 "target": class_ids(draw, ignore_index)}
        case(name, draw, given,
             lambda t, reduction: F.nll_loss(
                 t["input.log_probs"], t["target"], reduction=reduction,
                 ignore_index=-100 if ignore_index is None else ignore_index),
             ignore_index=ignore_index)

    nll("nll")
    nll("nll ignoring", ignore_index=-100)

    draw = Draw("mse")
    case("mse", draw,
         {"input.x": draw.normal(3, 4), "target": draw.normal(3, 4)},
         lambda t, reduction: F.mse_loss(
             t["input.x"], t["target"], reduction=reduction))

    def bce(name, **extra):
        draw = Draw(name)
        given = {"input.logits": draw.normal(4, 3, std=4),
                 "target": exactly(draw.random.rand(4, 3)), **extra}
        case(name, draw, given,
             lambda t, reduction: F.binary_cross_entropy_with_logits(
                 t["input.logits"], t["target"],
                 pos_weight=t.get("pos_weight"), reduction=reduction))

    bce("bce_with_logits")
    bce("bce_with_logits pos_weight", pos_weight=exactly([0.5, 1, 3]))
    return cases


# --- functions ---------------------------------------------------------------


def functional():
    cases = {}

    def case(name, x, call, **options):
        given = x if isinstance(x, dict) else {"input.x": x}
        cases[name] = function_case(Draw(name + " cotangent"), given, call,
                                    **options)

    def normal(name, *shape, **kwargs):
        return Draw(name).normal(*shape, **kwargs)

    for op in (F.softmax, F.log_softmax, torch.logsumexp):
        for dim in (0, 1, -1):
            name = f"{op.__name__} dim {dim}"
            case(name, normal(name, 2, 3, 4, std=2),
                 lambda t: op(t["input.x"], dim=dim), dim=dim)
        name = f"{op.__name__} large"
        case(name, normal(name, 3, 4, mean=100),
             lambda t: op(t["input.x"], dim=-1), dim=-1)

    for correction in (0, 1):
        for dim in ((-1,), (0, 2)):
            name = f"var correction {correction} dim {list(dim)}"
            case(name, normal(name, 2, 3, 4, mean=3),
                 lambda t: torch.var(t["input.x"], dim=dim,
                                     correction=correction),
                 dim=dim, correction=correction)

    case("norm", normal("norm", 3, 4),
         lambda t: torch.linalg.vector_norm(t["input.x"]))
    case("norm dim 1", normal("norm dim 1", 2, 3, 4),
         lambda t: torch.linalg.vector_norm(t["input.x"], dim=1), dim=1)

    for name, op in {"max": torch.max, "min": torch.min}.items():
        for dim in (0, -1):
            case(f"{name} dim {dim}", Draw(f"{name} {dim}").distinct(3, 4, 5),
                 lambda t: dict(zip(("output", "indices"),
                                    op(t["input.x"], dim))),
                 dim=dim)
        case(f"{name} of all", Draw(name).distinct(3, 4),
             lambda t: {"output": op(t["input.x"]),
                        "indices": getattr(torch, "arg" + name)(t["input.x"])})

    for k, dim, largest in ((3, -1, True), (2, 0, True), (2, -1, False)):
        name = f"topk {k} dim {dim} {'largest' if largest else 'smallest'}"
        case(name, Draw(name).distinct(3, 5),
             lambda t: dict(zip(("output", "indices"), torch.topk(
                 t["input.x"], k, dim=dim, largest=largest))),
             k=k, dim=dim, largest=largest)

    index = torch.tensor([[0, 2, 2, 1], [1, 1, 0, 0]])
    for dim in (0, 1):
        name = f"gather dim {dim}"
        case(name, {"input.x": normal(name, 3, 4), "index": index},
             lambda t: torch.gather(t["input.x"], dim, t["index"]), dim=dim)
        name = f"scatter_add dim {dim}"
        draw = Draw(name)
        case(name, {"input.x": draw.normal(3, 4), "index": index,
                    "input.src": draw.normal(2, 4)},
             lambda t: torch.scatter_add(
                 t["input.x"], dim, t["index"], t["input.src"]), dim=dim)

    # Second derivatives, where a wrong rule still gives the right gradient.
    def derivative(function):
        def call(t):
            x = t["input.x"].requires_grad_()
            return torch.autograd.grad(
                function(x), x, torch.ones_like(x), create_graph=True)[0]
        return call

    for name, function in {
            "gelu": F.gelu,
            "silu": F.silu,
            "tanh": torch.tanh,
            "softplus": lambda x: torch.logsumexp(
                torch.stack([x, torch.zeros_like(x)]), 0),
    }.items():
        case(f"derivative of {name}", exactly(np.linspace(-5, 5, 21)),
             derivative(function))
    return cases


# --- initialisers ------------------------------------------------------------


def initialisers():
    """Bounds and standard deviations; the random values are each library's."""
    cases = {}
    for shape in ((8, 4), (512, 128)):
        fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(
            torch.empty(shape))
        for nonlinearity in ("linear", "relu", "tanh"):
            gain = nn.init.calculate_gain(nonlinearity)
            xavier = gain * math.sqrt(2 / (fan_in + fan_out))
            stds = {"xavier": xavier,
                    "kaiming": gain / math.sqrt(fan_in)}
            for method, std in stds.items():
                cases[f"{method} {list(shape)} {nonlinearity}"] = make_case(
                    {}, lambda t: {}, dict(
                        shape=shape, nonlinearity=nonlinearity, gain=gain,
                        std=std, bound=math.sqrt(3) * std))
    return cases


# --- optimizers --------------------------------------------------------------


def optimizers():
    cases = {}
    STEPS = 10

    def case(name, optimizer, **options):
        draw = Draw(name)
        given = {
            "param.weight": draw.normal(2, 3), "param.bias": draw.normal(3),
            "steps.grad.weight": draw.normal(STEPS, 2, 3, std=0.5),
            "steps.grad.bias": draw.normal(STEPS, 3, std=0.5),
        }

        def compute(t):
            parameters = {n: nn.Parameter(t["param." + n])
                          for n in ("weight", "bias")}
            stepper = optimizer(parameters.values(), **options)
            path = {n: [] for n in parameters}
            for step in range(STEPS):
                for n, parameter in parameters.items():
                    parameter.grad = t["steps.grad." + n][step].clone()
                stepper.step()
                for n, parameter in parameters.items():
                    path[n].append(parameter.detach().clone())
            return {"steps.param." + n: torch.stack(p) for n, p in path.items()}

        cases[name] = make_case(given, compute, options)

    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    paper = {"betas": (0.9, 0.98), "eps": 1e-9}
    case("sgd", sgd, lr=0.1)
    case("sgd weight_decay", sgd, lr=0.1, weight_decay=0.05)
    case("sgd momentum", sgd, lr=0.1, momentum=0.9)
    case("sgd dampening", sgd, lr=0.1, momentum=0.9, dampening=0.25)
    case("sgd nesterov", sgd, lr=0.1, momentum=0.9, nesterov=True)
    case("sgd nesterov weight_decay", sgd, lr=0.1, momentum=0.8, nesterov=True,
         weight_decay=0.05)
    case("adam", adam, lr=0.01)
    case("adam paper", adam, lr=0.01, **paper)
    case("adam weight_decay", adam, lr=0.01, weight_decay=0.1)
    case("adam amsgrad", adam, lr=0.01, amsgrad=True)
    case("adam amsgrad weight_decay paper", adam, lr=0.01, amsgrad=True,
         weight_decay=0.1, **paper)
    case("adamw", adamw, lr=0.01)
    case("adamw weight_decay", adamw, lr=0.01, weight_decay=0.2)
    case("adamw amsgrad", adamw, lr=0.01, weight_decay=0.2, amsgrad=True)
    return cases


def clipping():
    cases = {}

    def case(name, max_norm, norm_type=2.0, std=1.0):
        draw = Draw(name)
        given = {"grad.weight": draw.normal(2, 3, std=std),
                 "grad.bias": draw.normal(3, std=std)}

        def compute(t):
            parameters = {n: nn.Parameter(torch.zeros_like(g))
                          for n, g in t.items()}
            for n, parameter in parameters.items():
                parameter.grad = t[n].clone()
            norm = nn.utils.clip_grad_norm_(
                parameters.values(), max_norm, norm_type)
            return {"norm": norm, **{
                "clipped." + n: p.grad for n, p in parameters.items()}}

        cases[name] = make_case(
            given, compute, {"max_norm": max_norm, "norm_type": str(norm_type)})

    case("clip_grad_norm", 1.0)
    case("clip_grad_norm below", 100.0)
    case("clip_grad_norm large", 0.5, std=1000.0)
    case("clip_grad_norm inf", 0.5, norm_type=math.inf)
    return cases


# --- schedules ---------------------------------------------------------------


def schedules():
    """lr[i] is the learning rate of optimizer update i + 1."""
    cases = {}
    schedulers = torch.optim.lr_scheduler

    def case(name, steps, make, **options):
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.5)
        scheduler = make(optimizer, **options)
        rates = []
        for _ in range(steps):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        cases[name] = make_case(
            {}, lambda t: {"lr": torch.tensor(rates, dtype=torch.float64)},
            {"lr": 0.5, **options})

    case("constant", 5, schedulers.ConstantLR, factor=1.0)
    case("step", 14, schedulers.StepLR, step_size=4, gamma=0.5)
    case("cosine", 13, schedulers.CosineAnnealingLR, T_max=12)
    case("cosine eta_min", 13, schedulers.CosineAnnealingLR, T_max=12,
         eta_min=0.05)
    case("linear decay", 14, schedulers.LinearLR, start_factor=1.0,
         end_factor=0.1, total_iters=10)
    case("linear warm-up", 14, schedulers.LinearLR, start_factor=0.25,
         end_factor=1.0, total_iters=10)

    def noam(name, d_model, warmup_steps, factor, steps):
        rates = [factor * d_model**-0.5 * min(s**-0.5, s * warmup_steps**-1.5)
                 for s in steps]
        cases[name] = make_case(
            {"step": torch.tensor(steps)},
            lambda t: {"lr": torch.tensor(rates, dtype=torch.float64)},
            dict(d_model=d_model, warmup_steps=warmup_steps, factor=factor))

    noam("noam paper", 512, 4000, 1.0,
         [1, 2, 100, 3999, 4000, 4001, 8000, 100000])
    noam("noam small", 16, 4, 2.0, list(range(1, 13)))
    return cases


# --- a whole small Transformer -----------------------------------------------


def sinusoidal_positions(length, d_model):
    position = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10000 ** (even / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


class Transformer(nn.Module):
    """The paper's model. Post-norm stacks end without a norm, as in the paper;
    pre-norm ones need one (nn.Transformer by itself adds one to both)."""

    def __init__(self, vocabulary, d_model, num_heads, num_layers, d_ff,
                 norm_first, activation, tied, output_bias):
        super().__init__()
        layer = dict(d_model=d_model, nhead=num_heads, dim_feedforward=d_ff,
                     dropout=0, activation=activation, norm_first=norm_first,
                     batch_first=True)

        def norm():
            return nn.LayerNorm(d_model) if norm_first else None

        self.d_model = d_model
        self.src_embedding = nn.Embedding(vocabulary, d_model)
        self.tgt_embedding = nn.Embedding(vocabulary, d_model)
        core = nn.Transformer(
            d_model, num_heads, dropout=0, batch_first=True,
            custom_encoder=nn.TransformerEncoder(
                nn.TransformerEncoderLayer(**layer), num_layers, norm()),
            custom_decoder=nn.TransformerDecoder(
                nn.TransformerDecoderLayer(**layer), num_layers, norm()))
        self.encoder, self.decoder = core.encoder, core.decoder
        self.output_proj = nn.Linear(d_model, vocabulary, bias=output_bias)
        if tied:
            self.tgt_embedding.weight = self.src_embedding.weight
            self.output_proj.weight = self.src_embedding.weight

    def embed(self, embedding, ids):
        x = embedding(ids) * math.sqrt(self.d_model)
        return x + sinusoidal_positions(ids.shape[1], self.d_model).to(x.dtype)

    def forward(self, src, tgt, pad_id):
        src_padding, T = src == pad_id, tgt.shape[1]
        memory = self.encoder(self.embed(self.src_embedding, src),
                              src_key_padding_mask=src_padding)
        y = self.decoder(self.embed(self.tgt_embedding, tgt), memory,
                         tgt_mask=causal(T, T),
                         tgt_key_padding_mask=tgt == pad_id,
                         memory_key_padding_mask=src_padding)
        return self.output_proj(y)


def sentences(draw, batches, batch_size, vocabulary, pad_id, bos_id, eos_id):
    """Random pairs: src, decoder input bos + tgt, decoder target tgt + eos."""
    S, T = 6, 5
    src, tgt_input, tgt_output = (
        torch.full((batches, batch_size, n), pad_id) for n in (S, T, T))
    for i in range(batches):
        for j in range(batch_size):
            s = draw.random.randint(3, S + 1)
            t = draw.random.randint(2, T)
            words = draw.ids(vocabulary, t, low=eos_id + 1)
            src[i, j, :s] = draw.ids(vocabulary, s, low=eos_id + 1)
            tgt_input[i, j, 0], tgt_input[i, j, 1:t + 1] = bos_id, words
            tgt_output[i, j, :t], tgt_output[i, j, t] = words, eos_id
    return {"batches.src": src, "batches.tgt_input": tgt_input,
            "batches.tgt_output": tgt_output}


def transformer():
    cases = {}
    STEPS = 10
    # The key part of in_proj_bias has no gradient but rounding noise, which a
    # small eps would let Adam blow up to whole steps.
    adam = {"lr": 0.01, "betas": (0.9, 0.98), "eps": 1e-4}

    def case(name, **variant):
        draw = Draw(name)
        sizes = dict(vocabulary=13, d_model=16, num_heads=4, num_layers=2,
                     d_ff=32, **variant)
        special = dict(pad_id=0, bos_id=1, eos_id=2)
        model = Transformer(**sizes)
        initial = draw.state(model)
        if variant["tied"]:
            for copy in ("tgt_embedding", "output_proj"):
                initial[f"state.{copy}.weight"] = initial[
                    "state.src_embedding.weight"]
        batches = sentences(draw, STEPS, 3, sizes["vocabulary"], **special)
        label_smoothing = 0.1

        def compute(t):
            model = Transformer(**sizes)
            model.to(t["state.src_embedding.weight"].dtype)
            names = list(model.state_dict())
            model.load_state_dict({n: t["state." + n] for n in names})
            optimizer = torch.optim.Adam(model.parameters(), **adam)
            results, losses = {}, []
            for src, tgt_input, tgt_output in zip(*(t[n] for n in batches)):
                logits = model(src, tgt_input, special["pad_id"])
                loss = F.cross_entropy(
                    logits.flatten(0, 1), tgt_output.flatten(),
                    ignore_index=special["pad_id"],
                    label_smoothing=label_smoothing)
                optimizer.zero_grad()
                loss.backward()
                if not losses:
                    results["output"] = logits
                    for n, p in model.state_dict(keep_vars=True).items():
                        results["grad.state." + n] = p.grad.clone()
                losses.append(loss.detach())
                optimizer.step()
            results["losses"] = torch.stack(losses)
            for n, p in model.state_dict().items():
                results["final." + n] = torch.stack([p.sum(), (p * p).sum()])
            return results

        cases[name] = make_case({**initial, **batches}, compute, {
            **sizes, **special, "label_smoothing": label_smoothing,
            "adam": adam})

    case("post-norm relu untied", norm_first=False, activation="relu",
         tied=False, output_bias=True)
    case("pre-norm gelu tied", norm_first=True, activation="gelu", tied=True,
         output_bias=False)
    return cases


# --- files -------------------------------------------------------------------


def as_number(x):
    """The shortest digits that read back as the very same number."""
    if not np.isfinite(x):
        return str(x)  # JSON has no infinities: "-inf"
    if x == int(x) and abs(x) < 1e6:
        return int(x)
    return float(str(x))


def as_json(tensor):
    array = tensor.detach().numpy()
    if array.dtype == bool:
        values = array.ravel().tolist()
    else:
        values = [as_number(x) for x in array.ravel()]
    return {"dtype": str(array.dtype), "shape": array.shape, "data": values}


def compact(value):
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def write(topic, cases):
    """One line a tensor, so that a change of the data can be read in a diff."""
    lines = []
    for name, case in cases.items():
        tensors = ",\n".join(
            f"  {compact(n)}: {compact(as_json(t))}"
            for n, t in case["tensors"].items())
        lines.append(f"{compact(name)}: {{\n"
                     f" \"options\": {compact(case['options'])},\n"
                     f" \"tensors\": {{\n{tensors}\n }}}}")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (FOLDER / f"{topic}.json").write_text(text)
    print(f"{topic}.json: {len(cases)} cases, {len(text) / 1000:.0f} kB")


TOPICS = (layers, attention, transformer_layers, losses, functional,
          initialisers, optimizers, clipping, schedules, transformer)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for topic in TOPICS:
        write(topic.__name__, topic())


if __name__ == "__main__":
    main()
