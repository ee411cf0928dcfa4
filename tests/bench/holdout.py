"""The hold-out: shapes that nobody tuned for, drawn from what networks have.

`shapes(seed)` draws them by the first 8 hex digits of the commit that is
measured, so nobody can know them before the model is frozen. Widths, windows
and images are those of published networks; batches, ragged sizes and which of
them meet are drawn. Every seed has some of each stratum.
"""
import random

import attention

# hidden sizes, and what feeds on them: f16 of 2 GB and more are left out
WIDTHS = [192, 256, 320, 384, 512, 640, 768, 896, 960, 1024, 1152, 1280, 1536,
          1600, 1792, 2048, 2304, 2560, 3072, 3584, 4096, 4608, 5120]
OUTER = [1000, 1536, 2048, 2304, 3072, 3840, 4096, 4864, 5120, 6144, 8192,
         8960, 11008, 12288, 13824, 14336, 16384, 18944]
TOKENS = [16, 32, 49, 50, 64, 77, 100, 128, 145, 196, 197, 256, 257, 384, 400,
          512, 576, 577, 785, 1024, 1370, 1500, 2048, 4096]
BATCHES = [1, 1, 2, 4, 8, 16, 32]
# 3x3: channels and image of ResNets, RegNets, VGG, U-Nets, detectors
WINDOW3 = [(32, 112), (48, 80), (64, 56), (64, 112), (64, 160), (80, 80),
           (96, 40), (128, 28), (128, 56), (160, 40), (192, 24), (256, 14),
           (256, 28), (256, 56), (320, 20), (320, 64), (384, 14), (512, 7),
           (512, 14), (512, 28), (640, 32), (1280, 16)]
# 3x3 of stride 2: channels, image, filters
DOWN3 = [(16, 320, 32), (24, 112, 48), (32, 112, 64), (32, 208, 64),
         (32, 320, 64), (48, 160, 96), (64, 56, 128), (64, 160, 128),
         (96, 80, 192), (128, 56, 128), (128, 80, 256), (256, 28, 256),
         (256, 40, 512), (512, 14, 512)]
# 1x1: of bottlenecks, mobile networks, U-Nets
POINT = [(16, 112, 96), (24, 56, 144), (32, 28, 192), (40, 28, 240),
         (64, 56, 256), (80, 14, 480), (96, 14, 576), (112, 14, 672),
         (128, 28, 512), (144, 56, 24), (192, 28, 32), (192, 7, 1152),
         (256, 14, 1024), (256, 56, 64), (320, 7, 1280), (480, 14, 112),
         (512, 28, 128), (512, 7, 2048), (672, 14, 112), (960, 7, 160),
         (1024, 14, 256), (1152, 7, 192), (2048, 7, 512)]
# stems and patches: channels, image, filters, window, stride
STEMS = [(3, 224, 32, 3, 2), (3, 224, 64, 7, 2), (3, 256, 32, 3, 2),
         (3, 300, 40, 3, 2), (3, 640, 16, 3, 2), (3, 224, 96, 4, 4),
         (4, 64, 320, 3, 1), (3, 299, 32, 3, 2)]
# depthwise: channels and image
DEEP = [(16, 112), (32, 112), (48, 112), (72, 56), (88, 28), (96, 56),
        (120, 28), (144, 56), (168, 56), (192, 56), (200, 14), (240, 28),
        (288, 28), (336, 28), (384, 14), (480, 14), (528, 28), (576, 14),
        (672, 14), (720, 14), (960, 7), (1152, 7), (192, 14), (384, 28)]


def ragged(r, least, most, step):
    """A size that is no multiple of 64: what recommenders, classifiers and
    pruned networks have."""
    while True:
        n = r.randrange(least, most, step)
        if n % 64:
            return n


def rows(r, most):
    """Tokens of a batch."""
    return r.choice([n for n in (t * b for t in TOKENS for b in BATCHES)
                     if 96 <= n <= most])


def products(r, count, math, most, known):
    """A quarter ragged, a quarter of few rows, the others as they come."""
    found = []
    while len(found) < count:
        kind = len(found) % 4
        if kind == 0:
            m, n, k = (ragged(r, 1000, 3000, 8) for _ in range(3))
        elif kind == 1 and math == "f16":
            m = r.randrange(17, 65)
            n, k = r.choice(OUTER[6:]), r.choice(WIDTHS[12:])
        else:
            m, n, k = rows(r, 8192), r.choice(OUTER), r.choice(WIDTHS)
        if kind == 2:
            n, k = k, n
        name = f"gemm.{math}.{m}x{n}x{k}"
        if 2 * m * n * k <= most and name not in known and name not in found:
            found.append(name)
    return found


def convolution(r, known, c, h, k, w, s):
    """At a batch at which input and output stay below 300 MB."""
    fits = [b for b in (1, 1, 2, 4, 8, 8, 16, 32)
            if b * h * h * max(c, k) * 2 <= 300e6]
    while True:
        name = f"conv.f16.n{r.choice(fits)}c{c}h{h}k{k}r{w}s{s}"
        if name not in known:
            return name + ("p0" if w == s and w > 1 else "")


def convolutions(r, each, known):
    found = []
    for c, h in r.sample(WINDOW3, each):
        found.append((c, h, r.choice([c, c, 2 * c if c < 512 else c // 2]),
                      3, 1))
    found += [(c, h, k, 3, 2) for c, h, k in r.sample(DOWN3, each)]
    found += [(c, h, k, 1, 1) for c, h, k in r.sample(POINT, each)]
    found += r.sample(STEMS, each // 2)
    return [convolution(r, known, *f) for f in found]


def depthwise(r, count, known):
    """Of 16 MB and more."""
    found = []
    for c, h in r.sample(DEEP, count + 4):
        w, s = r.choice([3, 3, 5]), r.choice([1, 1, 2])
        bytes_ = 2 * c * h * h * (1 + 1 / s**2)
        n = r.choice([b for b in (1, 8, 16, 32, 64, 128, 256, 512)
                      if 17e6 <= b * bytes_ <= 300e6])
        name = f"dw.f16.n{n}c{c}h{h}r{w}s{s}"
        if name not in known:
            found.append(name)
    return found[:count]


def shapes(seed, known):
    """{class: names}, more than 60 in all; none of `known`, which may have
    been tuned for."""
    r = random.Random("hold-out " + seed)
    return {"gemm": products(r, 20, "f16", 4e11, known),
            "conv": convolutions(r, 6, known),
            "dw": depthwise(r, 9, known),
            "f32": products(r, 8, "f32", 4e10, known),
            "tf32": products(r, 8, "tf32", 2e11, known),
            "attention": attention.drawn(seed)}
