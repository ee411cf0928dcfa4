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
        return F.linear(x, w, self(path + ".bias", out) if bias else None)

    def norm(self, x, path, eps):
        n = x.shape[-1]
        return F.layer_norm(x, (n,), self(path + ".weight", n, mean=1.0),
                            self(path + ".bias", n), eps)

    def rms(self, x, path, eps):
        n = x.shape[-1]
        return F.rms_norm(x, (n,), self(path + ".weight", n, mean=1.0), eps)


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
    grouped = {} if q.shape[1] == k.shape[1] else {"enable_gqa": True}
    a = F.scaled_dot_product_attention(q, k, v, is_causal=causal, **grouped)
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


def densenet121(w, i, d):
    h, k = F.relu(w.bn(w.conv(i["x"], "features.conv0", 2 * d["K"], 7, 2),
                       "features.norm0")), d["K"]
    h = F.max_pool2d(h, 3, 2, 1)
    for at, count in enumerate((6, 12, 24, 16), 1):
        for l in range(1, count + 1):
            p = f"features.denseblock{at}.denselayer{l}."
            t = F.relu(w.bn(h, p + "norm1"))
            t = F.relu(w.bn(w.conv(t, p + "conv1", 4 * k), p + "norm2"))
            h = torch.cat((h, w.conv(t, p + "conv2", k, 3)), 1)
        if at < 4:
            p = f"features.transition{at}."
            h = w.conv(F.relu(w.bn(h, p + "norm")), p + "conv", h.shape[1] // 2)
            h = F.avg_pool2d(h, 2)
    h = F.relu(w.bn(h, "features.norm5"))
    return {"logits": w.dense(h.mean((2, 3)), "classifier", 1000)}


def efficientnet_b0(w, i, d):
    def unit(x, path, out, kernel=1, stride=1, groups=1):
        h = w.conv(x, path + ".0", out, kernel, stride, groups)
        return F.silu(w.bn(h, path + ".1"))

    def point(x, path, out):
        return F.conv2d(x, w(path + ".weight", out, x.shape[1], 1, 1),
                        w(path + ".bias", out))

    def bottleneck(x, path, out, expand, kernel, stride):
        c, h, n = x.shape[1], x, 0
        if expand != 1:
            h, n = unit(h, path + ".0", expand * c), 1
        h = unit(h, f"{path}.{n}", expand * c, kernel, stride, expand * c)
        p = f"{path}.{n + 1}.fc"
        s = F.silu(point(h.mean((2, 3), keepdim=True), p + "1", c // 4))
        h = h * torch.sigmoid(point(s, p + "2", expand * c))
        h = w.conv(h, f"{path}.{n + 2}.0", out, gain=1.0)
        residual = stride == 1 and out == c
        h = w.bn(h, f"{path}.{n + 2}.1", 0.3 if residual else 1.0)
        return x + h if residual else h

    h = unit(i["x"], "features.0", 32, 3, 2)
    for at, (expand, kernel, stride, out, count) in enumerate((
            (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2),
            (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
            (6, 3, 1, 320, 1)), 1):
        for n in range(count):
            h = bottleneck(h, f"features.{at}.{n}.block", out, expand, kernel,
                           1 if n else stride)
    h = unit(h, "features.8", 1280)
    return {"logits": w.dense(h.mean((2, 3)), "classifier.1", 1000)}


def convnext_tiny(w, i, d):
    def conv(x, path, out, kernel):
        return F.conv2d(x, w(path + ".weight", out, x.shape[1], kernel, kernel),
                        w(path + ".bias", out), kernel)

    def norm2d(x, path):
        t = w.norm(x.permute(0, 2, 3, 1), path, 1e-6)
        return t.permute(0, 3, 1, 2)

    h = norm2d(conv(i["x"], "features.0.0", d["D"], 4), "features.0.1")
    for at, count in enumerate((3, 3, 9, 3)):
        c, p = d["D"] << at, f"features.{2 * at}."
        if at:
            h = conv(norm2d(h, p + "0"), p + "1", c, 2)
        for l in range(count):
            p = f"features.{2 * at + 1}.{l}."
            t = F.conv2d(h, w(p + "block.0.weight", c, 1, 7, 7),
                         w(p + "block.0.bias", c), 1, 3, 1, c)
            t = w.norm(t.permute(0, 2, 3, 1), p + "block.2", 1e-6)
            t = w.dense(F.gelu(w.dense(t, p + "block.3", 4 * c)), p + "block.5",
                        c)
            h = h + w(p + "layer_scale", c, 1, 1, std=0.3) * t.permute(
                0, 3, 1, 2)
    t = w.norm(h.mean((2, 3)), "classifier.0", 1e-6)
    return {"logits": w.dense(t, "classifier.2", 1000)}


def pix2pix(w, i, d):
    def down(x, at, out):
        weight = w(f"down.{at}.conv.weight", out, x.shape[1], 4, 4)
        return F.conv2d(x, weight, None, 2, 1)

    def up(x, at, out, bias=None):      # a point is a sum of 4 in C products
        c = x.shape[1]
        weight = w(f"up.{at}.conv.weight", c, out, 4, 4, std=(2 * c) ** -0.5)
        return F.conv_transpose2d(F.relu(x), weight, bias, 2, 1)

    n, skip = d["W"], [down(i["x"], 1, d["W"])]
    for at, out in enumerate((2, 4, 8, 8, 8, 8), 2):
        h = down(F.leaky_relu(skip[-1], 0.2), at, out * n)
        skip.append(w.bn(h, f"down.{at}.norm"))
    u = down(F.leaky_relu(skip[-1], 0.2), 8, 8 * n)
    for at, out in zip(range(8, 1, -1), (8, 8, 8, 8, 4, 2, 1)):
        u = w.bn(up(u, at, out * n), f"up.{at}.norm")
        u = torch.cat((skip.pop(), u), 1)
    return {"y": torch.tanh(up(u, 1, 3, w("up.1.conv.bias", 3)))}


def whisper_base(w, i, d):
    def conv(x, path, stride):
        return F.gelu(F.conv1d(x, w(path + ".weight", D, x.shape[1], 3),
                               w(path + ".bias", D), stride, 1))

    D, n = d["D"], d["D"] // 64
    h = conv(conv(i["mel"], "conv1", 1), "conv2", 2)
    x = h.transpose(1, 2) + w("embed_positions.weight", d["T"] // 2, D,
                              std=0.5)
    for l in range(d["L"]):
        p = f"layers.{l}."
        h, a = w.norm(x, p + "self_attn_layer_norm", 1e-5), p + "self_attn."
        q, k, v = (heads(w.dense(h, a + s, D, bias=s[0] != "k"), n)
                   for s in ("q_proj", "k_proj", "v_proj"))
        x = x + w.dense(attend(q, k, v), a + "out_proj", D)
        f = F.gelu(w.dense(w.norm(x, p + "final_layer_norm", 1e-5), p + "fc1",
                           4 * D))
        x = x + w.dense(f, p + "fc2", D)
    return {"last_hidden_state": w.norm(x, "layer_norm", 1e-5)}


def angles(pos, r, kind):
    """Cosine and sine of rotary positions, [len(pos), r] each."""
    at = torch.arange(r, device=pos.device, dtype=torch.float64)
    at = pos[:, None] * 100000.0 ** (-at / r)
    return at.cos().to(kind), at.sin().to(kind)


def turned(x, angle):
    """[B, heads, S, K], row s turned by row s of the angles."""
    c, n = angle
    a, b = x.chunk(2, -1)
    return torch.cat((a * c - b * n, b * c + a * n), -1)


def llama_qkv(w, x, p, D):
    """Heads of queries, keys and values: D / 64, D / 192, D / 192 of them."""
    h, a = w.rms(x, p + "input_layernorm", 1e-5), p + "self_attn."
    return (heads(w.dense(h, f"{a}{s}_proj", n, bias=False), n // 64)
            for s, n in (("q", D), ("k", D // 3), ("v", D // 3)))


def llama_rest(w, x, a, p, d):
    x = x + w.dense(a, p + "self_attn.o_proj", d["D"], bias=False)
    t = w.rms(x, p + "post_attention_layernorm", 1e-5)
    f = F.silu(w.dense(t, p + "mlp.gate_proj", d["F"], 2 ** 0.5, False))
    f = f * w.dense(t, p + "mlp.up_proj", d["F"], bias=False)
    return x + w.dense(f, p + "mlp.down_proj", d["D"], bias=False)


def smollm2(w, i, d):
    D = d["D"]
    table = w("model.embed_tokens.weight", d["V"], D, std=D ** -0.5)
    x = F.embedding(i["ids"].long(), table)
    angle = angles(torch.arange(d["S"], device=x.device), 32, x.dtype)
    for l in range(d["L"]):
        p = f"model.layers.{l}."
        q, k, v = llama_qkv(w, x, p, D)
        a = attend(turned(q, angle), turned(k, angle), v, True)
        x = llama_rest(w, x, a, p, d)
    return {"logits": F.linear(w.rms(x, "model.norm", 1e-5), table)}


def smollm2_decode(w, i, d):
    """One token, as gpt2_decode's."""
    D, pos = d["D"], int(i["pos"])
    table = w("model.embed_tokens.weight", d["V"], D, std=D ** -0.5)
    x = F.embedding(i["id"].long(), table)[:, None]
    angle = angles(torch.full((1,), pos, device=x.device), 32, x.dtype)
    for l in range(d["L"]):
        p = f"model.layers.{l}."
        q, k, v = llama_qkv(w, x, p, D)
        ks, vs = i["cache"][0][l], i["cache"][1][l]
        ks[:, :, pos:pos + 1] = turned(k, angle)
        vs[:, :, pos:pos + 1] = v
        upto = d["S"] if i.get("whole") else pos + 1
        a = attend(turned(q, angle), ks[:, :, :upto], vs[:, :, :upto])
        x = llama_rest(w, x, a, p, d)
    return {"logits": F.linear(w.rms(x, "model.norm", 1e-5)[:, 0], table)}


TABLES = (1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683,
          8351593, 3194, 27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15,
          286181, 105, 142572)          # rows, of Criteo's Kaggle data


def dlrm(w, i, d):
    h, D = i["x"], d["D"]
    for at, out in ((0, 512), (2, 256), (4, 64), (6, D)):
        h = F.relu(w.dense(h, f"bot_l.{at}", out, 2 ** 0.5))
    z = [h] + [F.embedding(i["ids"][:, t],
                           w(f"emb_l.{t}.weight", min(n, d["V"]), D, std=1.0))
               for t, n in enumerate(TABLES)]
    z = torch.stack(z, 1)
    at = torch.tril_indices(len(TABLES) + 1, len(TABLES) + 1, -1,
                            device=h.device)
    u = torch.cat((h, torch.bmm(z, z.mT)[:, at[0], at[1]]), 1)
    for at, out in ((0, 512), (2, 256)):
        u = F.relu(w.dense(u, f"top_l.{at}", out, 2 ** 0.5))
    return {"y": torch.sigmoid(w.dense(u, "top_l.4", 1))}


IMAGE = {"x": ("B", 3, "S", "S")}
# name: (network, sizes, inputs); an input is a shape of element type E, or
# (shape, bound) of i32 below the bound, which may be one for each column
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
    "densenet121": (densenet121, dict(S=224, K=32), IMAGE),
    "efficientnet_b0": (efficientnet_b0, dict(S=224), IMAGE),
    "convnext_tiny": (convnext_tiny, dict(S=224, D=96), IMAGE),
    "pix2pix": (pix2pix, dict(S=256, W=64), IMAGE),
    "whisper_base": (whisper_base, dict(T=3000, D=512, L=6),
                     {"mel": ("B", 80, "T")}),
    "smollm2": (smollm2, dict(S=512, D=576, L=30, F=1536, V=49152),
                {"ids": (("B", "S"), "V")}),
    "smollm2_decode": (smollm2_decode,
                       dict(S=1024, D=576, L=30, F=1536, V=49152),
                       {"id": (("B",), "V"), "pos": ((), "S")}),
    "dlrm": (dlrm, dict(V=1000000, D=16),
             {"x": ("B", 13), "ids": (("B", 26), TABLES)}),
}
