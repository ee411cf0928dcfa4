"""The networks of examples/, in plain PyTorch, with the same weight names.

Each is a function of weights, inputs and sizes, so that one text serves the
reference in double, the calibration of batch norms and PyTorch's own timing:

    net(w, i, d) -> {output name: tensor}

`w(name, *shape)` is a weight (made at first use), `w.bn(x, path)` a batch
norm, `i` the inputs by name, `d` the sizes by name.
"""
import zlib

import torch
import torch.nn.functional as F


class Weights:
    """Weights of one element type, made on demand from seed and name.

    They are stored rounded to `kind` and handed out as `compute`.  While
    `calibrating`, batch norms take their statistics from the pass itself, so
    that activations stay in range; they are stored rounded too.
    """

    def __init__(self, kind, device, seed=0):
        self.kind, self.compute = kind, torch.float64
        self.device, self.seed = device, seed
        self.tensors, self.calibrating = {}, True

    def _random(self, name, shape, std, mean):
        gen = torch.Generator(self.device)
        gen.manual_seed(zlib.crc32(name.encode()) + self.seed)
        t = torch.randn(shape, generator=gen, device=self.device)
        return t * std + mean

    def __call__(self, name, *shape, std=None, mean=0.0):
        """Default spread: 1 / sqrt(fan in) for matrices, 0.1 for vectors."""
        t = self.tensors.get(name)
        if t is None:
            if std is None:
                fan = 1
                for n in shape[1:]:
                    fan *= n
                std = fan ** -0.5 if len(shape) > 1 else 0.1
            t = self._random(name, shape, std, mean).to(self.kind)
            self.tensors[name] = t
        assert tuple(t.shape) == shape, (name, tuple(t.shape), shape)
        return t.to(self.compute)

    def bn(self, x, path, gain=1.0, eps=1e-5):
        """`gain` below 1 on the last norm of a residual branch, as training
        leaves it, keeps a random network from amplifying rounding errors."""
        c = x.shape[1]
        g = self(path + ".weight", c, mean=gain, std=0.1 * gain)
        b = self(path + ".bias", c)
        if self.calibrating and path + ".running_mean" not in self.tensors:
            var, mean = torch.var_mean(x, (0, 2, 3), correction=0)
            if x.numel() // c < 128:             # too few for a channel each
                var = x.var().expand(c)
            self.tensors[path + ".running_mean"] = mean.to(self.kind)
            self.tensors[path + ".running_var"] = var.contiguous().to(self.kind)
        m, v = self(path + ".running_mean", c), self(path + ".running_var", c)
        return F.batch_norm(x, m, v, g, b, False, 0.0, eps)

    def conv(self, x, path, out, kernel=1, stride=1, groups=1, gain=2 ** 0.5):
        c = x.shape[1] // groups
        w = self(path + ".weight", out, c, kernel, kernel,
                 std=gain * (c * kernel * kernel) ** -0.5)
        return F.conv2d(x, w, None, stride, kernel // 2, 1, groups)

    def dense(self, x, path, out, gain=1.0, bias=True):
        w = self(path + ".weight", out, x.shape[-1],
                 std=gain * x.shape[-1] ** -0.5)
        return F.linear(x, w, self(path + ".bias", out))

    def norm(self, x, path, eps):
        n = x.shape[-1]
        return F.layer_norm(x, (n,), self(path + ".weight", n, mean=1.0),
                            self(path + ".bias", n), eps)


def mlp(w, i, d):
    h = F.relu(w.dense(i["x"], "fc1", d["H"], 2 ** 0.5))
    return {"y": F.softmax(w.dense(h, "fc2", d["C"]), -1)}


def mlp_dlrm(w, i, d):
    h, n = i["x"], d["H"]
    for at, out in (("0", n), ("2", n), ("4", n // 2), ("6", n // 4)):
        h = F.relu(w.dense(h, at, out, 2 ** 0.5))
    return {"y": torch.sigmoid(w.dense(h, "8", 1))}


def digits(w, i, d):
    def unit(x, path, out):
        return F.relu(w.bn(w.conv(x, path + ".conv", out, 3), path + ".bn"))
    h = unit(i["x"], "unit1", 16)
    h = F.max_pool2d(unit(h, "unit2", 32), 2)
    h = F.max_pool2d(unit(h, "unit3", 32), 2)
    logits = w.dense(h.flatten(1), "fc", 10)
    return {"logits": logits, "digit": logits.argmax(1).int()}


def stem(w, x, width):
    h = F.relu(w.bn(w.conv(x, "conv1", width, 7, 2), "bn1"))
    return F.max_pool2d(h, 3, 2, 1)


def shortcut(w, x, path, out, stride):
    if x.shape[1] == out and stride == 1:
        return x
    return w.bn(w.conv(x, path + ".downsample.0", out, 1, stride),
                path + ".downsample.1")


def resnet18(w, i, d):
    h = stem(w, i["x"], d["W"])
    for layer in range(4):
        out = d["W"] << layer
        for at in range(2):
            p, s = f"layer{layer + 1}.{at}", 2 if layer and not at else 1
            t = F.relu(w.bn(w.conv(h, p + ".conv1", out, 3, s), p + ".bn1"))
            t = w.bn(w.conv(t, p + ".conv2", out, 3), p + ".bn2", 0.3)
            h = F.relu(t + shortcut(w, h, p, out, s))
    return {"logits": w.dense(h.mean((2, 3)), "fc", 1000)}


def resnet50(w, i, d):
    h = stem(w, i["x"], d["W"])
    for layer, count in enumerate((3, 4, 6, 3)):
        width = d["W"] << layer
        for at in range(count):
            p, s = f"layer{layer + 1}.{at}", 2 if layer and not at else 1
            t = F.relu(w.bn(w.conv(h, p + ".conv1", width), p + ".bn1"))
            t = F.relu(w.bn(w.conv(t, p + ".conv2", width, 3, s), p + ".bn2"))
            t = w.bn(w.conv(t, p + ".conv3", 4 * width), p + ".bn3", 0.3)
            h = F.relu(t + shortcut(w, h, p, 4 * width, s))
    return {"logits": w.dense(h.mean((2, 3)), "fc", 1000)}


def vgg16(w, i, d):
    h, at = i["x"], 0
    for width, count in ((1, 2), (2, 2), (4, 3), (8, 3), (8, 3)):
        for _ in range(count):
            h = w.conv(h, f"features.{at}", width * d["W"], 3)
            b = w(f"features.{at}.bias", width * d["W"])
            h, at = F.relu(h + b[:, None, None]), at + 2
        h, at = F.max_pool2d(h, 2), at + 1
    h = F.relu(w.dense(h.flatten(1), "classifier.0", d["H"], 2 ** 0.5))
    h = F.relu(w.dense(h, "classifier.3", d["H"], 2 ** 0.5))
    return {"logits": w.dense(h, "classifier.6", 1000)}


def mobilenetv2(w, i, d):
    def unit(x, path, n, out, kernel=1, stride=1, groups=1):
        h = w.conv(x, f"{path}.{n}.0", out, kernel, stride, groups)
        return F.relu6(w.bn(h, f"{path}.{n}.1"))

    def inverted(x, path, out, stride, expand):
        c, h, n = x.shape[1], x, 0
        if expand != 1:
            h, n = unit(h, path + ".conv", 0, expand * c), 1
        h = unit(h, path + ".conv", n, expand * c, 3, stride, expand * c)
        h = w.conv(h, f"{path}.conv.{n + 1}", out, gain=1.0)
        residual = stride == 1 and out == c
        h = w.bn(h, f"{path}.conv.{n + 2}", 0.3 if residual else 1.0)
        return x + h if residual else h

    h = unit(i["x"], "features", 0, 32, 3, 2)
    at = 1
    for expand, out, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2),
                                       (6, 32, 3, 2), (6, 64, 4, 2),
                                       (6, 96, 3, 1), (6, 160, 3, 2),
                                       (6, 320, 1, 1)):
        for n in range(count):
            h = inverted(h, f"features.{at}", out, 1 if n else stride, expand)
            at += 1
    h = unit(h, "features", 18, 1280)
    return {"logits": w.dense(h.mean((2, 3)), "classifier.1", 1000)}


def heads(x, n):
    """[B, S, D] -> [B, n, S, D / n]"""
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


def attend(q, k, v, causal=False):
    a = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return a.transpose(1, 2).flatten(2)


def bert_base(w, i, d):
    D, n = d["D"], d["D"] // 64
    e = "embeddings."
    ids = i["ids"].long()
    x = F.embedding(ids, w(e + "word_embeddings.weight", d["V"], D, std=1.0))
    x = x + w(e + "position_embeddings.weight", 512, D, std=0.5)[:d["S"]]
    x = x + w(e + "token_type_embeddings.weight", 2, D, std=0.5)[0]
    x = w.norm(x, e + "LayerNorm", 1e-12)
    for l in range(d["L"]):
        p = f"encoder.layer.{l}."
        q, k, v = (heads(w.dense(x, p + "attention.self." + s, D), n)
                   for s in ("query", "key", "value"))
        o = w.dense(attend(q, k, v), p + "attention.output.dense", D)
        h = w.norm(x + o, p + "attention.output.LayerNorm", 1e-12)
        f = F.gelu(w.dense(h, p + "intermediate.dense", 4 * D))
        o = w.dense(f, p + "output.dense", D)
        x = w.norm(h + o, p + "output.LayerNorm", 1e-12)
    return {"last_hidden_state": x}


def conv1d(w, x, path, out):
    """transformers' Conv1D: the weight is [in, out]."""
    n = x.shape[-1]
    weight = w(path + ".weight", n, out, std=n ** -0.5)
    return torch.addmm(w(path + ".bias", out), x.flatten(0, -2),
                       weight).unflatten(0, x.shape[:-1])


def gpt2_mlp(w, h, p, D):
    f = conv1d(w, w.norm(h, p + "ln_2", 1e-5), p + "mlp.c_fc", 4 * D)
    return h + conv1d(w, F.gelu(f, approximate="tanh"), p + "mlp.c_proj", D)


def gpt2(w, i, d):
    D, n = d["D"], d["D"] // 64
    wte = w("transformer.wte.weight", d["V"], D, std=D ** -0.5)
    wpe = w("transformer.wpe.weight", 1024, D, std=0.5 * D ** -0.5)
    x = F.embedding(i["ids"].long(), wte) + wpe[:d["S"]]
    for l in range(d["L"]):
        p = f"transformer.h.{l}."
        c = conv1d(w, w.norm(x, p + "ln_1", 1e-5), p + "attn.c_attn", 3 * D)
        q, k, v = (heads(t, n) for t in c.split(D, -1))
        h = x + conv1d(w, attend(q, k, v, True), p + "attn.c_proj", D)
        x = gpt2_mlp(w, h, p, D)
    return {"logits": F.linear(w.norm(x, "transformer.ln_f", 1e-5), wte)}


def gpt2_decode(w, i, d):
    """One token; i["cache"] holds [2, L, B, heads, S, 64], updated in place.

    `pos` is a number here; i["whole"] attends to the whole cache (timing).
    """
    D, n, pos = d["D"], d["D"] // 64, int(i["pos"])
    wte = w("transformer.wte.weight", d["V"], D, std=D ** -0.5)
    wpe = w("transformer.wpe.weight", 1024, D, std=0.5 * D ** -0.5)
    x = F.embedding(i["id"].long(), wte)[:, None] + wpe[pos]
    for l in range(d["L"]):
        p = f"transformer.h.{l}."
        c = conv1d(w, w.norm(x, p + "ln_1", 1e-5), p + "attn.c_attn", 3 * D)
        q, k, v = (heads(t, n) for t in c.split(D, -1))
        ks, vs = i["cache"][0][l], i["cache"][1][l]
        ks[:, :, pos:pos + 1] = k
        vs[:, :, pos:pos + 1] = v
        upto = d["S"] if i.get("whole") else pos + 1
        a = attend(q, ks[:, :, :upto], vs[:, :, :upto])
        x = gpt2_mlp(w, x + conv1d(w, a, p + "attn.c_proj", D), p, D)
    x = w.norm(x, "transformer.ln_f", 1e-5)
    return {"logits": F.linear(x[:, 0], wte)}


def vit_b16(w, i, d):
    D, n, g = d["D"], d["D"] // 64, d["S"] // 16
    x = F.conv2d(i["x"], w("conv_proj.weight", D, 3, 16, 16),
                 w("conv_proj.bias", D), 16)
    x = x.flatten(2).transpose(1, 2)
    cls = w("class_token", 1, 1, D, std=1.0).expand(x.shape[0], -1, -1)
    x = torch.cat((cls, x), 1)
    x = x + w("encoder.pos_embedding", 1, g * g + 1, D, std=0.5)
    for l in range(d["L"]):
        p = f"encoder.layers.encoder_layer_{l}."
        a = p + "self_attention."
        c = F.linear(w.norm(x, p + "ln_1", 1e-6),
                     w(a + "in_proj_weight", 3 * D, D),
                     w(a + "in_proj_bias", 3 * D))
        q, k, v = (heads(t, n) for t in c.split(D, -1))
        h = x + w.dense(attend(q, k, v), a + "out_proj", D)
        f = F.gelu(w.dense(w.norm(h, p + "ln_2", 1e-6), p + "mlp.0", 4 * D))
        x = h + w.dense(f, p + "mlp.3", D)
    return {"logits": w.dense(w.norm(x, "encoder.ln", 1e-6)[:, 0],
                              "heads.head", 1000)}


IMAGE = {"x": ("B", 3, "S", "S")}
# name: (network, sizes, inputs); an input is a shape of element type E, or
# (shape, bound) of i32 below the bound
NETS = {
    "mlp": (mlp, dict(D=512, H=1024, C=10), {"x": ("B", "D")}),
    "digits": (digits, {}, {"x": ("B", 1, 8, 8)}),
    "mlp_dlrm": (mlp_dlrm, dict(D=512, H=1024), {"x": ("B", "D")}),
    "resnet18": (resnet18, dict(S=224, W=64), IMAGE),
    "resnet50": (resnet50, dict(S=224, W=64), IMAGE),
    "vgg16": (vgg16, dict(S=224, W=64, H=4096), IMAGE),
    "mobilenetv2": (mobilenetv2, dict(S=224), IMAGE),
    "bert_base": (bert_base, dict(S=128, D=768, L=12, V=30522),
                  {"ids": (("B", "S"), "V")}),
    "gpt2": (gpt2, dict(S=1024, D=768, L=12, V=50257),
             {"ids": (("B", "S"), "V")}),
    "gpt2_decode": (gpt2_decode, dict(S=1024, D=768, L=12, V=50257),
                    {"id": (("B",), "V"), "pos": ((), "S")}),
    "vit_b16": (vit_b16, dict(S=224, D=768, L=12), IMAGE),
}
