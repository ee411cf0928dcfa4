"""Twins of the .dcl files of this folder: TWINS[name] = a function of tensors, in
the order of the model's inputs and params as they are declared. Results are
tensors or tuples of them, in the order of the outputs. Made beside the .dcl
files; sizes are theirs."""

import torch
import torch.nn.functional as F


def linattn(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    kv = k.transpose(-1, -2) @ v
    z = q @ k.sum(-2).unsqueeze(-1)
    return (q @ kv) / (z + 1e-6)


def spp(x):
    a = F.max_pool2d(x, 5, 1, 2)
    b = F.max_pool2d(a, 5, 1, 2)
    c = F.max_pool2d(b, 5, 1, 2)
    return torch.cat((x, a, b, c), 1)


def gru(x, h, wi, wh, bi, bh):
    i, j = F.linear(x, wi, bi), F.linear(h, wh, bh)
    a, b, c = i.chunk(3, -1)
    d, e, f = j.chunk(3, -1)
    r, z = torch.sigmoid(a + d), torch.sigmoid(b + e)
    n = torch.tanh(c + r * f)
    return (1 - z) * n + z * h


def lstm(x, h, c, wi, wh, b):
    g = F.linear(x, wi, b) + F.linear(h, wh)
    i, f, u, o = g.chunk(4, -1)
    cn = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(u)
    return torch.sigmoid(o) * torch.tanh(cn), cn


def cov(x):
    y = x - x.mean(-1, keepdim=True)
    return (y @ y.transpose(-1, -2)).float() / x.shape[-1]


TWINS = {
    "bmm_bij_bjk": lambda a, b: torch.matmul(a, b),
    "bmm_bji_bjk": lambda a, b: torch.einsum("nji,njk->nik", a, b),
    "bmm_bij_bkj": lambda a, b: torch.einsum("nij,nkj->nik", a, b),
    "bmm_last_batch": lambda a, b: torch.einsum("ijn,jkn->ikn", a, b),
    "bmm_mid_batch": lambda a, b: torch.einsum("inj,knj->nik", a, b),
    "leading_axis": lambda a, b: a.t() @ b,
    "trailing_axes2": lambda a, b: torch.einsum("ipq,kpq->ik", a, b),
    "far_axes": lambda a, b: torch.einsum("piq,pkq->ik", a, b),
    "far_axes_swap": lambda a, b: torch.einsum("piq,qpk->ik", a, b),
    "outer": lambda a, b: a[:, None] * b[None, :],
    "outer_batched": lambda a, b: a[:, :, None] * b[:, None, :],
    "three_factor": lambda a, c, b: (a * c) @ b.t(),
    "three_factor_big": lambda a, c, b: (a * c) @ b.t(),
    "bilinear": lambda x, w, z: torch.einsum("ni,oij,nj->no", x, w, z),
    "tri_mult_out": lambda a, b: torch.einsum("ikc,jkc->ijc", a, b),
    "tri_mult_in": lambda a, b: torch.einsum("kic,kjc->ijc", a, b),
    "outer_mean": lambda a, b: torch.einsum("sic,sjd->ijcd", a, b),
    "mixed_axes": lambda a, w: torch.einsum("nshd,hdo->nso", a, w),
    "mixed_axes_hb": lambda a, w: torch.einsum("nhsd,hdo->nso", a, w),
    "proj_heads": lambda x, w: torch.einsum("nsc,chd->nhsd", x, w),
    "kron_apply": lambda x, a, b: torch.einsum("njk,ij,lk->nil", x, a, b),
    "gram_style": lambda x: torch.einsum("nipq,njpq->nij", x, x).float() / 4096,
    "gram_nhwc": lambda x: torch.einsum("npqi,npqj->nij", x, x).float() / 4096,
    "corr_volume": lambda a, b: torch.einsum("ncij,nckl->nijkl", a, b) / 16,
    "corr_local": lambda a, b: torch.stack(
        [
            (a * F.pad(b, (4, 4, 4, 4))[:, :, u : u + 96, v : v + 128]).sum(1)
            for u in range(9)
            for v in range(9)
        ],
        1,
    ).view(4, 9, 9, 96, 128),
    "dlrm_dot": lambda x: x @ x.transpose(1, 2),
    "complex_mul": lambda a, b: torch.view_as_real(
        torch.view_as_complex(a.float()) * torch.view_as_complex(b.float())
    ).to(a.dtype),
    "complex_prod": lambda ar, ai, br, bi: (ar @ br - ai @ bi, ar @ bi + ai @ br),
    "spectral_conv": lambda xr, xi, wr, wi: (
        torch.einsum("bim,iom->bom", xr, wr) - torch.einsum("bim,iom->bom", xi, wi),
        torch.einsum("bim,iom->bom", xr, wi) + torch.einsum("bim,iom->bom", xi, wr),
    ),
    "small_8x8": lambda a, b: a @ b,
    "small_16x16": lambda a, b: a @ b,
    "rot_3x3": lambda r, p, t: torch.einsum("nij,nmj->nmi", r, p) + t[:, None],
    "matvec_batched": lambda a, x: (a @ x[:, :, None])[:, :, 0],
    "vecmat_batched": lambda a, x: (x[:, None] @ a)[:, 0],
    "tall_skinny": lambda a, b: a @ b,
    "skinny_gram": lambda a: (a.t() @ a).float(),
    "tall_rank8": lambda a, b: a @ b.t(),
    "lora": lambda x, w, a, b: x @ w.t() + (x @ a.t()) @ b.t() * 2,
    "einsum_group_linear": lambda x, w: torch.einsum("ngi,gio->ngo", x, w),
    "moe_einsum": lambda x, w: torch.relu(x @ w),
    "mlp_mixer_tok": lambda x, w1, w2: x
    + torch.einsum("ij,bjc->bic", w2, F.gelu(torch.einsum("ij,bjc->bic", w1, x))),
    "gcn": lambda a, x, w: torch.relu(a @ (x @ w.t())),
    "attn_bshd": lambda q, k, v: torch.einsum(
        "bhij,bjhd->bihd", torch.softmax(torch.einsum("bihd,bjhd->bhij", q, k) * 0.125, -1), v
    ),
    "attn_bshd_E": lambda q, k, v: torch.einsum(
        "bhij,bjhd->bihd", torch.softmax(torch.einsum("bihd,bjhd->bhij", q, k) * 0.125, -1), v
    ),
    "attn_bhds": lambda q, k, v: torch.einsum(
        "bhij,bhdj->bhdi", torch.softmax(torch.einsum("bhdi,bhdj->bhij", q, k) * 0.125, -1), v
    ),
    "attn_sbh": lambda q, k, v: F.scaled_dot_product_attention(
        *(t.view(512, 8, 12, 64).permute(1, 2, 0, 3) for t in (q, k, v))
    )
    .permute(2, 0, 1, 3)
    .reshape(512, 8, 768),
    "chan_attn": lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) * 0.0156, -1) @ v,
    "chan_attn_f32p": lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) * 0.0156, -1) @ v,
    "xcit": lambda q, k, v, t: torch.softmax(
        (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-1, -2)) * t[:, None, None],
        -1,
    )
    @ v,
    "linattn": lambda q, k, v: linattn(q, k, v),
    "linattn_E": lambda q, k, v: linattn(q, k, v),
    "efficient_attn": lambda q, k, v: torch.softmax(q, -1)
    @ (torch.softmax(k, -2).transpose(-1, -2) @ v),
    "mqa": lambda q, k, v: F.scaled_dot_product_attention(
        q, k[:, None].expand(-1, 16, -1, -1), v[:, None].expand(-1, 16, -1, -1), is_causal=True
    ),
    "window_attn": lambda q, k, v, bias: F.scaled_dot_product_attention(
        q, k, v, attn_mask=bias, scale=0.1768
    ),
    "nonlocal": lambda t, f, g: torch.einsum(
        "bij,bcj->bci", torch.softmax(torch.einsum("bci,bcj->bij", t, f), -1), g
    ),
    "attn_pool": lambda x, w: torch.einsum("bi,bid->bd", torch.softmax(x @ w, -1), x),
    "additive_attn": lambda q, k, v: torch.softmax(
        (v * torch.tanh(q[:, None] + k)).sum(-1), -1
    ),
    "cdist2": lambda a, b: torch.cdist(a.float(), b.float()).to(a.dtype),
    "cdist2_b": lambda a, b: torch.cdist(a.float(), b.float()) ** 2,
    "cdist_expand": lambda a, b: (
        (a * a).sum(-1)[:, None] + (b * b).sum(-1)[None] - 2 * (a @ b.t())
    )
    .clamp(min=0)
    .sqrt(),
    "l1dist": lambda a, b: torch.cdist(a.float(), b.float(), p=1).to(a.dtype),
    "cos_sim": lambda a, b: F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).t(),
    "rbf": lambda a, b: torch.exp(-0.5 * torch.cdist(a.float(), b.float()) ** 2).to(a.dtype),
    "vq_argmin": lambda x, cb: torch.cdist(x.float(), cb.float()).argmin(-1).int(),
    "chamfer": lambda a, b: (torch.cdist(a.float(), b.float()) ** 2).amin(-1).mean(-1),
    "infonce": lambda a, b: F.cross_entropy(
        (a @ b.t()).float() * 14, torch.arange(2048, device=a.device)
    ),
    "logsoftmax_50257": lambda x: torch.log_softmax(x, -1),
    "softmax_32000": lambda x: torch.softmax(x, -1),
    "xent_50257": lambda x, t: F.cross_entropy(x.float(), t.long()),
    "argmax_rows": lambda x: x.argmax(-1).int(),
    "argmax_cols": lambda x: x.argmax(0).int(),
    "argmax_nchw": lambda x: x.argmax(1).int(),
    "argmax_nhwc": lambda x: x.argmax(-1).int(),
    "top1_val": lambda x: tuple(t if i == 0 else t.int() for i, t in enumerate(x.max(-1))),
    "top2": lambda x: tuple(x.topk(2, -1).values.unbind(-1)),
    "max_cols": lambda x: x.amax(0),
    "sum_cols": lambda x: x.sum(0, dtype=torch.float),
    "sum_mid": lambda x: x.sum(1),
    "sum_outer_two": lambda x: x.sum((0, 2), dtype=torch.float),
    "sum_all": lambda x: x.sum(dtype=torch.float),
    "var_all": lambda x: x.float().var(correction=0),
    "mse_loss": lambda x, t: F.mse_loss(x.float(), t.float()),
    "bce_loss": lambda x, t: F.binary_cross_entropy_with_logits(x.float(), t.float()),
    "dice": lambda x, t: (
        lambda p: 1
        - ((2 * (p * t).sum((2, 3)) + 1) / (p.sum((2, 3)) + t.float().sum((2, 3)) + 1)).mean()
    )(torch.sigmoid(x.float())),
    "count_gt": lambda x: (x > 0).sum().int(),
    "cumsum_last": lambda x: x.cumsum(-1),
    "cumsum_first": lambda x: x.cumsum(0),
    "cumsum_mid": lambda x: x.cumsum(1),
    "cummax_last": lambda x: x.cummax(-1)[0],
    "cumsum_rev": lambda x: x.flip(-1).cumsum(-1).flip(-1),
    "tril_prod": lambda a, x: a.tril() @ x,
    "tril_mask": lambda a, x: a.tril() @ x,
    "masked_mean": lambda x, m: (x * m[:, :, None]).sum(1)
    / m.sum(1, keepdim=True).clamp(min=1e-9),
    "len_mean": lambda x, n: (
        (x.float() * (torch.arange(512, device=x.device)[None] < n[:, None])[:, :, None]).sum(1)
        / n[:, None]
    ).to(x.dtype),
    "layernorm": lambda x, g, b: F.layer_norm(x, (1024,), g, b),
    "layernorm_nchw": lambda x, g, b: F.layer_norm(
        x.permute(0, 2, 3, 1), (96,), g, b, 1e-6
    ).permute(0, 3, 1, 2),
    "layernorm_nchw768": lambda x, g, b: F.layer_norm(
        x.permute(0, 2, 3, 1), (768,), g, b, 1e-6
    ).permute(0, 3, 1, 2),
    "groupnorm_nchw": lambda x, g, b: F.silu(F.group_norm(x, 32, g, b)),
    "groupnorm_nhwc": lambda x, g, b: F.silu(
        F.group_norm(x.permute(0, 3, 1, 2), 32, g, b)
    ).permute(0, 2, 3, 1),
    "instnorm_nchw": lambda x, g, b: F.relu(F.instance_norm(x, weight=g, bias=b)),
    "instnorm_nhwc": lambda x: F.relu(F.instance_norm(x.permute(0, 3, 1, 2))).permute(
        0, 2, 3, 1
    ),
    "bnstats_nchw": lambda x: F.batch_norm(x, None, None, training=True),
    "bnstats_nhwc": lambda x: F.batch_norm(
        x.permute(0, 3, 1, 2), None, None, training=True
    ).permute(0, 2, 3, 1),
    "bn1d": lambda x: F.batch_norm(x, None, None, training=True),
    "rms_residual": lambda x, r, g: (x + r, F.rms_norm(x + r, (4096,), g, 1e-6)),
    "grn": lambda x, g, b: (
        lambda s: (g * (x * (s / (s.mean(-1, keepdim=True) + 1e-6))) + b + x).to(x.dtype)
    )(x.float().pow(2).sum((1, 2), keepdim=True).sqrt()),
    "l2norm_rows": lambda x: F.normalize(x, dim=-1),
    "l2norm_nchw": lambda x: F.normalize(x, dim=1),
    "softmax_mid": lambda x: torch.softmax(x, 1),
    "softmax_first": lambda x: torch.softmax(x, 0),
    "softmax_nchw21": lambda x: torch.softmax(x, 1),
    "softmax_short": lambda x: torch.softmax(x, -1),
    "softmax_27": lambda x: torch.softmax(x, -1),
    "layernorm_64": lambda x, g, b: F.layer_norm(x, (64,), g, b),
    "qknorm": lambda x, g: F.rms_norm(x, (64,), g, 1e-6).permute(0, 2, 1, 3).contiguous(),
    "gap_nchw": lambda x: x.mean((2, 3)),
    "gap_nchw56": lambda x: x.mean((2, 3)),
    "gap_nhwc": lambda x: x.mean((1, 2)),
    "se_block": lambda x, w1, w2: x
    * torch.sigmoid(F.relu(x.mean((2, 3)) @ w1.t()) @ w2.t())[:, :, None, None],
    "cbam_spatial": lambda x: x
    * torch.sigmoid(x.mean(1, keepdim=True) + x.amax(1, keepdim=True)),
    "maxpool_3s2": lambda x: F.max_pool2d(x, 3, 2, 1),
    "maxpool_5s1": lambda x: F.max_pool2d(x, 5, 1, 2),
    "avgpool_2": lambda x: F.avg_pool2d(x, 2),
    "avgpool_3s1_poolformer": lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False) - x,
    "maxpool_nhwc": lambda x: F.max_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1).permute(0, 2, 3, 1),
    "maxpool1d": lambda x: F.max_pool1d(x, 2),
    "spp": lambda x: spp(x),
    "t_2d": lambda x: x.t().contiguous(),
    "t_0213": lambda x: x.permute(0, 2, 1, 3).contiguous(),
    "t_0231": lambda x: x.permute(0, 2, 3, 1).contiguous(),
    "t_0312": lambda x: x.permute(0, 3, 1, 2).contiguous(),
    "t_210": lambda x: x.permute(2, 1, 0).contiguous(),
    "t_102": lambda x: x.permute(1, 0, 2).contiguous(),
    "t_120": lambda x: x.permute(1, 2, 0).contiguous(),
    "t_5d": lambda x: x.permute(0, 3, 1, 4, 2).contiguous(),
    "t_5d_keep": lambda x: x.permute(0, 2, 3, 1, 4).contiguous(),
    "t_small3": lambda x: x.permute(0, 3, 1, 2).contiguous(),
    "t_small3_back": lambda x: x.permute(0, 2, 3, 1).contiguous(),
    "qkv_split": lambda x: tuple(
        t.contiguous() for t in x.view(32, 512, 3, 12, 64).permute(2, 0, 3, 1, 4)
    ),
    "k_transpose": lambda x: x.permute(0, 2, 3, 1).contiguous(),
    "pix_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "pix_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "pix_shuffle3": lambda x: F.pixel_shuffle(x, 3),
    "d2s_nhwc": lambda x: x.view(16, 64, 64, 2, 2, 64)
    .permute(0, 1, 3, 2, 4, 5)
    .reshape(16, 128, 128, 64),
    "patch_merge": lambda x, g, b: F.layer_norm(
        torch.cat((x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]), -1),
        (384,),
        g,
        b,
    ),
    "chan_shuffle": lambda x: x.view(64, 2, 128, 28, 28)
    .transpose(1, 2)
    .reshape(64, 256, 28, 28),
    "up_nearest": lambda x: F.interpolate(x, scale_factor=2),
    "up_bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "up_nearest_nhwc": lambda x: x.repeat_interleave(2, 1).repeat_interleave(2, 2),
    "up_add_fpn": lambda x, l: F.interpolate(x, scale_factor=2) + l,
    "up_bilinear4": lambda x: F.interpolate(x, scale_factor=4, mode="bilinear"),
    "down_bilinear": lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear"),
    "concat_c": lambda a, b: torch.cat((a, b), 1),
    "concat_last": lambda a, b: torch.cat((a, b), -1),
    "pad_hw": lambda x: F.pad(x, (1, 1, 1, 1)),
    "pad_reflect": lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"),
    "roll_swin": lambda x: torch.roll(x, (-3, -3), (1, 2)),
    "win_part": lambda x: torch.roll(x, (-3, -3), (1, 2))
    .view(32, 8, 7, 8, 7, 96)
    .permute(0, 1, 3, 2, 4, 5)
    .contiguous(),
    "flip": lambda x: x.flip(-1),
    "im2col": lambda x: F.unfold(x, 3, padding=1)
    .transpose(1, 2)
    .contiguous()
    .view(8, 56, 56, 64, 3, 3),
    "conv_patch16": lambda x, w, b: F.relu(F.conv2d(x, w, b, 16, 0, 1, 1)),
    "conv_patch4": lambda x, w, b: F.relu(F.conv2d(x, w, b, 4, 0, 1, 1)),
    "conv_stem7": lambda x, w, b: F.relu(F.conv2d(x, w, b, 2, 3, 1, 1)),
    "conv_stem3s2": lambda x, w, b: F.relu(F.conv2d(x, w, b, 2, 1, 1, 1)),
    "conv_3x3_57": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 1)),
    "conv_3x3_35": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 1)),
    "conv_1x1_56": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 0, 1, 1)),
    "conv_1x1_7": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 0, 1, 1)),
    "conv_1x1_17": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 0, 1, 1)),
    "conv_1x1s2": lambda x, w, b: F.relu(F.conv2d(x, w, b, 2, 0, 1, 1)),
    "conv_dil2": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 2, 2, 1)),
    "conv_dil12": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 12, 12, 1)),
    "conv_1x7": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 0, 1, 1)),
    "conv_g32_4": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 32)),
    "conv_g32_8": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 32)),
    "conv_g32_16": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 32)),
    "conv_g4_32": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 4)),
    "conv_g2_1x1": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 0, 1, 2)),
    "dw_3x3": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 144)),
    "dw_3x3s2": lambda x, w, b: F.relu(F.conv2d(x, w, b, 2, 1, 1, 144)),
    "dw_7x7": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 3, 1, 96)),
    "dw_5x5": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 2, 1, 672)),
    "conv_c1": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 1)),
    "conv_out3": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 1)),
    "conv_vae": lambda x, w, b: F.relu(F.conv2d(x, w, b, 1, 1, 1, 1)),
    "conv_t2": lambda x, w, b: F.conv_transpose2d(x, w, b, 2),
    "conv_t4s2": lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1),
    "conv_t3s2": lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1),
    "conv3d_64": lambda x, w, b: F.relu(F.conv3d(x, w, b, 1, 1)),
    "conv3d_unet": lambda x, w: F.conv3d(x, w, None, 1, 1),
    "conv3d_stem": lambda x, w: F.conv3d(x, w, None, (1, 2, 2), (1, 3, 3)),
    "conv3d_tubelet": lambda x, w: F.conv3d(x, w, None, (2, 16, 16)),
    "conv1d_ncl": lambda x, w, b: F.gelu(F.conv1d(x, w, b, 1, 1)),
    "conv1d_dil": lambda x, w, b: F.relu(F.conv1d(x, w, b, 1, 8, 8)),
    "conv1d_wave": lambda x, w: F.gelu(F.conv1d(x, w, None, 5)),
    "dw1d_causal_ncl": lambda x, w, b: F.silu(
        F.conv1d(F.pad(x, (3, 0)), w[:, None], b, groups=2048)
    ),
    "dw1d_causal_nlc": lambda x, w, b: F.silu(
        F.conv1d(F.pad(x.transpose(1, 2), (3, 0)), w[:, None], b, groups=2048)
    ).transpose(1, 2),
    "dw1d_31": lambda x, w: F.conv1d(x, w, None, 1, 15, 1, 512),
    "dw1d_31_nlc": lambda x, w: F.conv1d(
        x.transpose(1, 2), w[:, None], None, 1, 15, 1, 512
    ).transpose(1, 2),
    "conv_nhwc_rs": lambda x, w: F.relu(
        F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), None, 1, 1)
    ).permute(0, 2, 3, 1),
    "patch_linear": lambda x, w, b: F.conv2d(x, w.view(768, 3, 16, 16), b, 16)
    .flatten(2)
    .transpose(1, 2),
    "patch_linear_c": lambda x, w, b: F.linear(
        x.view(32, 3, 14, 16, 14, 16).permute(0, 2, 4, 3, 5, 1).reshape(32, 196, 768), w, b
    ),
    "conv_ln_nchw": lambda x, w, b, g, c: F.conv2d(
        F.layer_norm(x.permute(0, 2, 3, 1), (96,), g, c, 1e-6).permute(0, 3, 1, 2), w, b, 2
    ),
    "embed_bag": lambda ids, t: F.embedding_bag(ids.long(), t, mode="sum"),
    "embed_mean": lambda ids, t: F.embedding_bag(ids.long(), t, mode="mean"),
    "embed": lambda ids, t, p: F.embedding(ids.long(), t) + p,
    "gather_rows": lambda x, i: x[i.long()],
    "gather_elem": lambda x, i: x.gather(1, i.long()[:, None])[:, 0],
    "onehot_prod": lambda ids, w: w[ids.long()],
    "knn_gather_max": lambda x, i: torch.stack([t[j.long()] for t, j in zip(x, i)]).amax(2) - x,
    "gat_edges": lambda a, i, j: (a[i.long()].float() * a[j.long()].float()).sum(-1),
    "gru_cell": lambda x, h, wi, wh, bi, bh: gru(x, h, wi, wh, bi, bh),
    "lstm_cell": lstm,
    "rope": lambda x, c, s: (
        x * torch.cat((c, c), -1)
        + torch.cat((-x[..., 64:], x[..., :64]), -1) * torch.cat((s, s), -1)
    ).to(x.dtype),
    "rope_pairs": lambda x, c, s: (
        x * c.repeat_interleave(2, -1)[:, None]
        + torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)
        * s.repeat_interleave(2, -1)[:, None]
    ).to(x.dtype),
    "sq_relu": lambda x, w, v: (F.relu(x @ w.t()) ** 2) @ v.t(),
    "swiglu": lambda x, w1, w3, w2: (F.silu(x @ w1.t()) * (x @ w3.t())) @ w2.t(),
    "glu_split": lambda x: F.glu(x),
    "geglu_chan": lambda x: x[:, :128] * F.gelu(x[:, 128:]),
    "quant_rows": lambda x: (
        lambda s: (s, torch.round(x / s.clamp(min=1e-8)[:, None]).to(torch.int8))
    )(x.float().abs().amax(-1) / 127),
    "dequant": lambda q, s: (q.float() * s[:, None]),
    "dequant_groups": lambda q, s: (q.view(4096, 32, 128) * s[:, :, None]).view(4096, 4096),
    "i8_prod": lambda a, b, sa, sb: torch._int_mm(a, b.t()) * sa[:, None] * sb,
    "w8a16": lambda x, q, s: (x @ q.to(x.dtype).t()) * s,
    "w8a16_1": lambda x, q, s: (x @ q.to(x.dtype).t()) * s,
    "film": lambda x, g, b: x * (1 + g[:, :, None, None]) + b[:, :, None, None],
    "spatial_gate": lambda x, g: x * g[:, None],
    "gumbel_like": lambda x, u: torch.softmax(
        (x - torch.log(-torch.log(u.float() + 1e-10) + 1e-10)) / 0.7, -1
    ).to(x.dtype),
    "pairwise_add": lambda a, b: F.relu(a[:, :, None] + b[:, None]),
    "relpos_bias": lambda s, t: s
    + t[
        (torch.arange(512, device=s.device)[:, None] - torch.arange(512, device=s.device)[None])
        + 511
    ].permute(2, 0, 1),
    "tv_loss": lambda x: (x[:, :, 1:, :-1].float() - x[:, :, :-1, :-1]).abs().sum()
    + (x[:, :, :-1, 1:].float() - x[:, :, :-1, :-1]).abs().sum(),
    "gauss_blur": lambda x, k: F.conv2d(
        F.conv2d(x.view(48, 1, 512, 512), k.view(1, 1, 1, 11), padding=(0, 5)),
        k.view(1, 1, 11, 1),
        padding=(5, 0),
    ).view(16, 3, 512, 512),
    "sobel": lambda x: (
        lambda p: (
            (p[:, 0, 1:-1, 2:] - p[:, 0, 1:-1, :-2]).float() ** 2
            + (p[:, 0, 2:, 1:-1] - p[:, 0, :-2, 1:-1]).float() ** 2
        )
        .sqrt()
        .to(x.dtype)
    )(F.pad(x, (1, 1, 1, 1))),
    "fm_interact": lambda e: 0.5 * (e.float().sum(1) ** 2 - (e.float() ** 2).sum(1)).sum(1),
    "mean_pool_norm": lambda x: F.normalize(x.float().mean(1), dim=-1),
    "stat_pool": lambda x: (x.float().mean(-1), x.float().std(-1, correction=0)),
    "cov_pool": lambda x: cov(x),
}
