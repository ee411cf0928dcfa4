#!/usr/bin/env python3
"""Networks that nobody tuned import for: torchvision's, timm's and
transformers', small and with random weights, by both exporters of PyTorch,
opsets 11 to 20, with sizes that are symbols:

    tests/onnx_heldout.py [--export] [--check] FOLDER [NAME...]

--export writes NAME.onnx with an input and onnxruntime's output into FOLDER,
where they are not there; it needs torch, onnxscript, onnxruntime and what the
networks come from. --check needs numpy alone: each is imported, run by the
oracle (a norm-relative error of 1e-3 at most) and compiled for an H200 and for
sm_80 in f32 and f16. Without either, both. NAME may be a pattern, cnn_*. A
line a network; exit status 1 if one fails.
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np

SRC = os.environ.get("DCC_SRC") or os.path.dirname(
    os.path.dirname(os.path.abspath(__file__)))
DCC = os.environ.get("DCC_BIN") or os.path.join(SRC, "build/dcc")
NETWORKS = {}


def network(name, build, exporter="script", opset=17, symbols=None):
    NETWORKS[name] = (build, exporter, opset, symbols)


# ---- what there is to export -------------------------------------------------

def seeded(model):
    """Parameters that matter: norms not 1 and 0, statistics not 0 and 1, no
    matrix of zeros, as the heads of some networks begin."""
    import torch
    for p in model.parameters():
        if p.dim() < 2:
            p.data.add_(0.1 * torch.randn_like(p))
        elif not p.any():
            p.data.normal_(0, 0.1)
    for k, b in model.named_buffers():
        if k.endswith("running_mean"):
            b.normal_(0, 0.1)
        if k.endswith("running_var"):
            b.uniform_(0.5, 1.5)
    return model.eval()


def normal(*shape):
    import torch
    return torch.randn(*shape)


def ids(*shape, below=90):
    import torch
    return torch.randint(3, below, shape)


def mask(batch, size):
    import torch
    m = torch.ones(batch, size, dtype=torch.int64)
    m[-1, size // 2:] = 0
    return m


def calls(model, names, pick, fixed=None):
    """A module of tensors in their order and tensors out."""
    import torch

    class Calls(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *given):
            return pick(self.model(**dict(zip(names, given)), **(fixed or {})))
    return Calls()


def vision(name, size=64, batch=1, pick=None, **more):
    def build():
        import torchvision
        folder = torchvision.models
        for part in name.split(".")[:-1]:
            folder = getattr(folder, part)
        weights = {"weights": None}
        if name.startswith(("segmentation", "detection")):
            weights["weights_backbone"] = None
        m = getattr(folder, name.split(".")[-1])(**weights, **more)
        shape = (batch, 3) + (size if isinstance(size, tuple) else (size, size))
        x = (normal(*shape),)
        return (picked(m, pick) if pick else m), x
    return build


def picked(model, pick):
    import torch

    class Picked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *x):
            return pick(self.model, *x)
    return Picked()


def timm(name, size=64, **more):
    def build():
        import timm as package
        return (package.create_model(name, num_classes=10, **more),
                (normal(1, 3, size, size),))
    return build


def of(kind, config, names, inputs, pick=lambda o: o[0], fixed=None, **sizes):
    """transformers' class `kind` of such sizes."""
    def build():
        import transformers as t
        m = getattr(t, kind)(getattr(t, config)(**sizes))
        return calls(m, names, pick, fixed), tuple(f() for f in inputs)
    return build


SMALL = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2,
             num_attention_heads=4, intermediate_size=48)
VIT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
           intermediate_size=48, image_size=32, patch_size=8)
TEXT = ["input_ids", "attention_mask"]
AT = [lambda: ids(2, 11), lambda: mask(2, 11)]
SYMBOLS = {0: {0: "batch", 1: "sequence"}, 1: {0: "batch", 1: "sequence"}}
BATCH = {0: {0: "batch"}}


def torchvision_networks():
    out = lambda m, x: m(x)["out"]
    for name, opset, size in (
            ("segmentation.fcn_resnet50", 11, 64),
            ("segmentation.deeplabv3_mobilenet_v3_large", 13, 64),
            ("segmentation.lraspp_mobilenet_v3_large", 16, 64)):
        network(name.split(".")[1], vision(name, size, pick=out), "script",
                opset)
    network("deeplab_dynamo", vision(
        "segmentation.deeplabv3_mobilenet_v3_large", 64, pick=out), "dynamo",
        20)
    for name, opset in (("r3d_18", 12), ("mc3_18", 14), ("r2plus1d_18", 18)):
        network(name, vision("video." + name, (4, 32, 32)), "dynamo" if opset == 18 else "script", opset)
    for name, opset, size in (
            ("googlenet", 11, 64), ("inception_v3", 12, 96),
            ("shufflenet_v2_x0_5", 13, 64), ("squeezenet1_1", 14, 64),
            ("mnasnet0_5", 15, 64), ("regnet_y_400mf", 16, 64),
            ("swin_v2_t", 17, 64)):
        more = {"aux_logits": False} if name == "googlenet" else {}
        if name in ("googlenet", "inception_v3"):
            more["init_weights"] = False
        network(name, vision(name, size, 2, **more), "script", opset,
                BATCH if name != "swin_v2_t" else None)
    network("shufflenet_dynamo", vision("shufflenet_v2_x0_5", 64, 2),
            "dynamo", 18, BATCH)
    network("maxvit_dynamo", vision("maxvit_t", 224), "dynamo", 20)

    def fpn():
        from torchvision.models.detection import retinanet_resnet50_fpn
        m = retinanet_resnet50_fpn(weights=None, weights_backbone=None,
                                   num_classes=5)

        def pick(m, x):
            f = list(m.backbone(x).values())
            h = m.head(f)
            return h["cls_logits"], h["bbox_regression"]
        return picked(m, pick), (normal(1, 3, 64, 64),)
    network("retinanet_heads", fpn, "script", 11)

    def ssd():
        from torchvision.models.detection import ssdlite320_mobilenet_v3_large
        m = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None,
                                          num_classes=5)

        def pick(m, x):
            h = m.head(list(m.backbone(x).values()))
            return h["cls_logits"], h["bbox_regression"]
        return picked(m, pick), (normal(1, 3, 320, 320),)
    network("ssdlite_heads", ssd, "script", 14)

    def fcos():
        from torchvision.models.detection import fcos_resnet50_fpn
        m = fcos_resnet50_fpn(weights=None, weights_backbone=None,
                              num_classes=5)

        def pick(m, x):
            h = m.head(list(m.backbone(x).values()))
            return h["cls_logits"], h["bbox_regression"], h["bbox_ctrness"]
        return picked(m, pick), (normal(1, 3, 64, 64),)
    network("fcos_heads", fcos, "dynamo", 18)

    def keypoints():
        from torchvision.models.detection import keypointrcnn_resnet50_fpn
        m = keypointrcnn_resnet50_fpn(weights=None, weights_backbone=None)

        def pick(m, x, r):
            f = m.backbone(x)
            o = m.rpn.head(list(f.values()))
            k = m.roi_heads.keypoint_predictor(m.roi_heads.keypoint_head(r))
            return tuple(o[0]) + tuple(o[1]) + (k,)
        return picked(m, pick), (normal(1, 3, 64, 64), normal(2, 256, 14, 14))
    network("keypoint_parts", keypoints, "script", 13)

    def raft():
        from torchvision.models.optical_flow import raft_small
        return (picked(raft_small(weights=None),
                       lambda m, a, b: m(a, b, num_flow_updates=2)[-1]),
                (normal(1, 3, 128, 128), normal(1, 3, 128, 128)))
    network("raft_small", raft, "script", 16)


def timm_networks():
    for name, size, exporter, opset in (
            ("gcvit_xxtiny", 224, "script", 14),
            ("davit_tiny", 64, "script", 13),
            ("focalnet_tiny_srf", 64, "script", 12),
            ("inception_next_atto", 64, "script", 11),
            ("mambaout_femto", 64, "script", 17),
            ("caformer_s18", 64, "script", 15),
            ("convformer_s18", 64, "dynamo", 20),
            ("mobilenetv4_conv_small", 64, "script", 11),
            ("mobilenetv4_hybrid_medium", 64, "script", 16),
            ("nextvit_small", 64, "script", 14),
            ("pvt_v2_b0", 64, "script", 13),
            ("repghostnet_050", 64, "script", 12),
            ("repvit_m0_9", 64, "dynamo", 18),
            ("starnet_s1", 64, "script", 11),
            ("tiny_vit_5m_224", 224, "script", 16),
            ("twins_svt_small", 224, "script", 12),
            ("vovnet39a", 64, "script", 11),
            ("eva02_tiny_patch14_224", 224, "script", 17),
            ("dpn48b", 64, "script", 11), ("hgnetv2_b0", 64, "script", 12),
            ("vit_relpos_small_patch16_224", 224, "script", 14),
            ("rdnet_tiny", 64, "script", 13), ("shvit_s1", 64, "script", 16),
            ("fasternet_t0", 64, "script", 11),
            ("cs3darknet_s", 64, "script", 15),
            ("efficientvit_m0", 224, "script", 14),
            ("efficientformerv2_s0", 224, "script", 13),
            ("efficientvim_m1", 224, "script", 17),
            ("lambda_resnet26t", 256, "script", 12),
            ("halonet26t", 256, "script", 13),
            ("botnet26t_256", 256, "script", 14),
            ("gcresnet33ts", 64, "script", 15),
            ("bat_resnext26ts", 256, "script", 12),
            ("swinv2_cr_tiny_ns_224", 224, "script", 16)):
        network("timm_" + name, timm(name, size), exporter, opset)


def decoder_step(kind, config, heads, size, layers, **sizes):
    """One token with what came before: keys and values in and out."""
    def build():
        import torch
        import transformers as t
        m = getattr(t, kind)(getattr(t, config)(use_cache=True, **sizes))

        class Step(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.m = m

            def forward(self, x, seen, *past):
                from transformers import DynamicCache
                cache = DynamicCache()
                for l in range(layers):
                    cache.update(past[2 * l], past[2 * l + 1], l)
                o = self.m(input_ids=x, attention_mask=seen,
                           past_key_values=cache, use_cache=True)
                now = o.past_key_values
                kept = []
                for l in range(layers):
                    kept += [now.layers[l].keys, now.layers[l].values]
                return (o.logits,) + tuple(kept)
        past = [normal(2, heads, 7, size) for _ in range(2 * layers)]
        seen = torch.ones(2, 8, dtype=torch.int64)
        seen[1, :3] = 0
        return Step(), (ids(2, 1), seen, *past)
    return build


def text_networks():
    fixed = {"use_cache": False}
    logits = lambda o: o.logits
    seq2seq = TEXT + ["decoder_input_ids"]
    three = AT + [lambda: ids(2, 5)]
    sym3 = {**SYMBOLS, 2: {0: "batch", 1: "written"}}
    M = [
        ("distilbert", "DistilBertModel", "DistilBertConfig", "script", 11, {},
         dict(vocab_size=100, dim=32, n_layers=2, n_heads=4, hidden_dim=48)),
        ("albert", "AlbertModel", "AlbertConfig", "script", 12, {},
         dict(SMALL, embedding_size=16)),
        ("roberta", "RobertaModel", "RobertaConfig", "script", 14, {}, SMALL),
        ("xlm_roberta", "XLMRobertaModel", "XLMRobertaConfig", "dynamo", 18,
         {}, SMALL),
        ("electra", "ElectraModel", "ElectraConfig", "script", 13, {},
         dict(SMALL, embedding_size=16)),
        ("deberta_v2", "DebertaV2Model", "DebertaV2Config", "script", 15, {},
         dict(SMALL, relative_attention=True, position_biased_input=False,
              pos_att_type=["p2c", "c2p"], max_relative_positions=16)),
        ("mpnet", "MPNetModel", "MPNetConfig", "script", 14, {}, SMALL),
        ("squeezebert", "SqueezeBertModel", "SqueezeBertConfig", "script", 12,
         {}, dict(SMALL, embedding_size=32)),
        ("mobilebert", "MobileBertModel", "MobileBertConfig", "script", 13, {},
         dict(SMALL, embedding_size=16, intra_bottleneck_size=32)),
        ("nystromformer", "NystromformerModel", "NystromformerConfig",
         "script", 17, {}, dict(SMALL, num_landmarks=16, segment_means_seq_len=16)),
        ("modernbert", "ModernBertModel", "ModernBertConfig", "dynamo", 20, {},
         dict(SMALL, local_attention=4, pad_token_id=0)),
        ("layoutlm", "LayoutLMModel", "LayoutLMConfig", "script", 14, {}, SMALL),
        ("t5_encoder", "T5EncoderModel", "T5Config", "script", 12, {},
         dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2,
              num_heads=4)),
        ("umt5_encoder", "UMT5EncoderModel", "UMT5Config", "dynamo", 18, {},
         dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2,
              num_heads=4)),
        ("fnet", "FNetModel", "FNetConfig", "dynamo", 18, None, SMALL),
    ]
    for n, kind, config, exporter, opset, fixed_, sizes in M:
        if fixed_ is None:
            network(n, of(kind, config, TEXT[:1], AT[:1], **sizes), exporter,
                    opset)
        else:
            network(n, of(kind, config, TEXT, AT, **sizes), exporter, opset,
                    SYMBOLS)
    heads2 = dict(SMALL, num_key_value_heads=2)
    for n, kind, config, exporter, opset, sizes in (
            ("opt", "OPTForCausalLM", "OPTConfig", "script", 14,
             dict(vocab_size=100, hidden_size=32, num_hidden_layers=2,
                  num_attention_heads=4, ffn_dim=48, word_embed_proj_dim=32)),
            ("bloom", "BloomForCausalLM", "BloomConfig", "script", 14,
             dict(vocab_size=100, hidden_size=32, n_layer=2, n_head=4)),
            ("gpt_neo", "GPTNeoForCausalLM", "GPTNeoConfig", "script", 13,
             dict(vocab_size=100, hidden_size=32, num_layers=2, num_heads=4,
                  attention_types=[[["global", "local"], 1]], window_size=4)),
            ("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", "script", 15,
             SMALL),
            ("gptj", "GPTJForCausalLM", "GPTJConfig", "script", 14,
             dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4,
                  rotary_dim=4)),
            ("llama", "LlamaForCausalLM", "LlamaConfig", "script", 16, heads2),
            ("mistral", "MistralForCausalLM", "MistralConfig", "dynamo", 18,
             dict(heads2, sliding_window=4)),
            ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", "script", 17, heads2),
            ("gemma", "GemmaForCausalLM", "GemmaConfig", "script", 17,
             dict(SMALL, num_key_value_heads=1, head_dim=16)),
            ("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", "dynamo", 20,
             dict(heads2, head_dim=16, sliding_window=4)),
            ("phi", "PhiForCausalLM", "PhiConfig", "script", 14, SMALL),
            ("phi3", "Phi3ForCausalLM", "Phi3Config", "dynamo", 18,
             dict(heads2, pad_token_id=0)),
            ("falcon", "FalconForCausalLM", "FalconConfig", "script", 14,
             dict(vocab_size=100, hidden_size=32, num_hidden_layers=2,
                  num_attention_heads=4)),
            ("mpt", "MptForCausalLM", "MptConfig", "script", 14,
             dict(vocab_size=100, d_model=32, n_layers=2, n_heads=4)),
            ("stablelm", "StableLmForCausalLM", "StableLmConfig", "script", 16,
             heads2),
            ("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config",
             "script", 15, heads2),
            ("olmo", "OlmoForCausalLM", "OlmoConfig", "script", 17, heads2),
            ("cohere", "CohereForCausalLM", "CohereConfig", "script", 17,
             heads2),
            ("granite", "GraniteForCausalLM", "GraniteConfig", "dynamo", 18,
             heads2),
            ("gpt_bigcode", "GPTBigCodeForCausalLM", "GPTBigCodeConfig",
             "script", 14, dict(vocab_size=100, n_embd=32, n_layer=2,
                                n_head=4)),
            ("mamba", "MambaForCausalLM", "MambaConfig", "script", 17,
             dict(vocab_size=100, hidden_size=32, num_hidden_layers=2,
                  state_size=8)),
            ("mamba2", "Mamba2ForCausalLM", "Mamba2Config", "script", 17,
             dict(vocab_size=100, hidden_size=32, num_hidden_layers=2,
                  state_size=8, num_heads=8, head_dim=8, n_groups=2,
                  chunk_size=8)),
            ("mixtral", "MixtralForCausalLM", "MixtralConfig", "dynamo", 18,
             dict(heads2, num_local_experts=4)),
            ("rwkv", "RwkvForCausalLM", "RwkvConfig", "script", 17,
             dict(vocab_size=100, hidden_size=32, num_hidden_layers=2,
                  attention_hidden_size=32))):
        if n in ("mamba", "mamba2", "rwkv"):
            network(n, of(kind, config, TEXT[:1], AT[:1], logits, fixed,
                          **sizes), exporter, opset)
        else:
            network(n, of(kind, config, TEXT, AT, logits, fixed, **sizes),
                    exporter, opset, SYMBOLS)
    small = dict(vocab_size=100, d_model=32, encoder_layers=2,
                 decoder_layers=2, encoder_attention_heads=4,
                 decoder_attention_heads=4, encoder_ffn_dim=48,
                 decoder_ffn_dim=48)
    for n, kind, config, opset, sizes in (
            ("bart", "BartForConditionalGeneration", "BartConfig", 14, small),
            ("mbart", "MBartForConditionalGeneration", "MBartConfig", 13,
             small),
            ("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", 15,
             small),
            ("t5", "T5ForConditionalGeneration", "T5Config", 16,
             dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2,
                  num_heads=4))):
        network(n, of(kind, config, seq2seq, three, logits, fixed, **sizes),
                "script", opset, sym3)
    past = {0: {0: "batch"}, 1: {0: "batch", 1: "all"}}
    past.update({i: {0: "batch", 2: "past"} for i in range(2, 6)})
    network("llama_step", decoder_step("LlamaForCausalLM", "LlamaConfig", 2, 8,
                                       2, **heads2), "script", 17, past)
    network("gpt2_step", decoder_step(
        "GPT2LMHeadModel", "GPT2Config", 4, 8, 2, vocab_size=100, n_embd=32,
        n_layer=2, n_head=4), "script", 14, past)
    network("qwen3_step", decoder_step(
        "Qwen3ForCausalLM", "Qwen3Config", 2, 8, 2, head_dim=8, **heads2),
        "dynamo", 18, None)
    network("gptneox_step", decoder_step(
        "GPTNeoXForCausalLM", "GPTNeoXConfig", 4, 8, 2, **SMALL), "script",
        13, past)

    def t5_step():
        import torch
        import transformers as t
        from transformers import DynamicCache, EncoderDecoderCache
        m = t.T5ForConditionalGeneration(t.T5Config(
            vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2,
            num_heads=4))

        class Step(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.m = m

            def forward(self, x, hidden, seen, *past):
                own = DynamicCache()
                for l in range(2):
                    own.update(past[2 * l], past[2 * l + 1], l)
                cache = EncoderDecoderCache(own, DynamicCache())
                o = self.m(decoder_input_ids=x, encoder_outputs=(hidden,),
                           attention_mask=seen, past_key_values=cache,
                           use_cache=True)
                now = o.past_key_values.self_attention_cache
                return (o.logits, now.layers[0].keys, now.layers[0].values,
                        now.layers[1].keys, now.layers[1].values)
        return Step(), (ids(2, 1), normal(2, 9, 32), mask(2, 9),
                        *[normal(2, 4, 6, 8) for _ in range(4)])
    network("t5_step", t5_step, "script", 14, {
        0: {0: "batch"}, 1: {0: "batch", 1: "read"}, 2: {0: "batch", 1: "read"},
        **{i: {0: "batch", 2: "past"} for i in range(3, 7)}})


def picture_networks():
    pixels = ["pixel_values"]
    im = [lambda: normal(2, 3, 32, 32)]
    big = [lambda: normal(1, 3, 64, 64)]
    for n, kind, config, exporter, opset, inputs, sizes in (
            ("vit", "ViTModel", "ViTConfig", "script", 11, im, VIT),
            ("deit", "DeiTModel", "DeiTConfig", "script", 12, im, VIT),
            ("swin", "SwinModel", "SwinConfig", "script", 13, big,
             dict(image_size=64, patch_size=4, embed_dim=16, depths=[2, 2],
                  num_heads=[2, 4], window_size=4)),
            ("beit", "BeitModel", "BeitConfig", "script", 14, im,
             dict(VIT, use_relative_position_bias=True)),
            ("data2vec_vision", "Data2VecVisionModel", "Data2VecVisionConfig",
             "script", 15, im, dict(VIT, use_shared_relative_position_bias=True)),
            ("convnextv2", "ConvNextV2Model", "ConvNextV2Config", "script", 16,
             im, dict(hidden_sizes=[16, 32], depths=[1, 1], num_stages=2)),
            ("dinov2_interpolated", "Dinov2Model", "Dinov2Config", "script",
             17, [lambda: normal(2, 3, 48, 32)],
             dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                  image_size=32, patch_size=8)),
            ("dinov2_registers", "Dinov2WithRegistersModel",
             "Dinov2WithRegistersConfig", "dynamo", 18, im,
             dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                  image_size=32, patch_size=8)),
            ("clip_vision", "CLIPVisionModel", "CLIPVisionConfig", "script",
             14, im, VIT),
            ("blip_vision", "BlipVisionModel", "BlipVisionConfig", "script",
             14, im, VIT),
            ("segformer", "SegformerForSemanticSegmentation",
             "SegformerConfig", "script", 13, big,
             dict(hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1],
                  num_attention_heads=[1, 2, 4, 8], decoder_hidden_size=32)),
            ("mobilevit", "MobileViTModel", "MobileViTConfig", "script", 12,
             big, dict(hidden_sizes=[16, 24, 32], image_size=64,
                       neck_hidden_sizes=[8, 16, 24, 32, 32, 40, 64])),
            ("mobilevitv2", "MobileViTV2Model", "MobileViTV2Config", "script",
             13, big, dict(image_size=64, base_attn_unit_dims=[16, 24, 32],
                           n_attn_blocks=[1, 1, 1])),
            ("cvt", "CvtModel", "CvtConfig", "script", 13, big,
             dict(embed_dim=[16, 32, 48], num_heads=[1, 2, 3],
                  depth=[1, 1, 2])),
            ("dpt", "DPTForDepthEstimation", "DPTConfig", "script", 14,
             [lambda: normal(1, 3, 64, 64)],
             dict(hidden_size=32, num_hidden_layers=4, num_attention_heads=4,
                  intermediate_size=48, image_size=64, patch_size=16,
                  backbone_out_indices=[0, 1, 2, 3], fusion_hidden_size=16,
                  neck_hidden_sizes=[8, 16, 32, 32])),
            ("glpn", "GLPNForDepthEstimation", "GLPNConfig", "script", 14, big,
             dict(hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1],
                  num_attention_heads=[1, 2, 4, 8], decoder_hidden_size=16)),
            ("yolos", "YolosForObjectDetection", "YolosConfig", "script", 14,
             big, dict(VIT, image_size=[64, 64], num_detection_tokens=5,
                       use_mid_position_embeddings=False)),
            ("swin2sr", "Swin2SRForImageSuperResolution", "Swin2SRConfig",
             "script", 14, [lambda: normal(1, 3, 32, 32)],
             dict(image_size=32, embed_dim=16, depths=[2], num_heads=[2],
                  window_size=8)),
            ("focalnet", "FocalNetModel", "FocalNetConfig", "script", 15, big,
             dict(image_size=64, embed_dim=16, depths=[1, 1],
                  hidden_sizes=[16, 32], focal_levels=[2, 2],
                  focal_windows=[3, 3])),
            ("vitdet", "VitDetModel", "VitDetConfig", "script", 14, big,
             dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                  image_size=64, patch_size=8, pretrain_image_size=32,
                  window_size=3, window_block_indices=[0],
                  use_relative_position_embeddings=True)),
            ("siglip", "SiglipVisionModel", "SiglipVisionConfig", "script", 15,
             im, VIT),
            ("poolformer", "PoolFormerModel", "PoolFormerConfig", "script", 11,
             big, dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])),
            ("videomae", "VideoMAEForVideoClassification", "VideoMAEConfig",
             "script", 14, [lambda: normal(1, 4, 3, 32, 32)],
             dict(VIT, num_frames=4)),
            ("timesformer", "TimesformerModel", "TimesformerConfig", "script",
             14, [lambda: normal(1, 2, 3, 32, 32)], dict(VIT, num_frames=2))):
        network(n, of(kind, config, pixels, inputs, **sizes),
                exporter, opset, BATCH if inputs is im else None)

    def detr():
        import transformers as t
        m = t.DetrForObjectDetection(t.DetrConfig(
            use_timm_backbone=False, use_pretrained_backbone=False,
            backbone=None, backbone_config=t.ResNetConfig(
                embedding_size=8, hidden_sizes=[8, 16, 24, 32],
                depths=[1, 1, 1, 1], out_features=["stage4"]),
            d_model=32, encoder_layers=2, decoder_layers=2,
            encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=48, decoder_ffn_dim=48, num_queries=7))
        return (calls(m, ["pixel_values"], lambda o: (o.logits, o.pred_boxes)),
                (normal(1, 3, 64, 96),))
    network("detr", detr, "script", 16)
    network("detr_dynamo", detr, "dynamo", 18)

    def clip():
        import torch
        import transformers as t
        m = t.CLIPModel(t.CLIPConfig(
            text_config=dict(SMALL, eos_token_id=99, bos_token_id=98,
                             pad_token_id=97),
            vision_config=VIT, projection_dim=16))
        x = torch.cat([ids(2, 10), torch.full((2, 1), 99)], 1)
        return (calls(m, ["input_ids", "pixel_values"],
                      lambda o: (o.logits_per_image, o.text_embeds)),
                (x, normal(3, 3, 32, 32)))
    network("clip", clip, "script", 14)


def sound_networks():
    conv = dict(conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
                num_feat_extract_layers=2, num_conv_pos_embeddings=16,
                num_conv_pos_embedding_groups=4)
    heard = [lambda: normal(2, 1600)]
    network("wav2vec2", of("Wav2Vec2ForCTC", "Wav2Vec2Config",
                           ["input_values"], heard, **SMALL, **conv), "script",
            14, BATCH)
    network("hubert", of("HubertModel", "HubertConfig", ["input_values"],
                         heard, **SMALL, **conv), "script", 13, BATCH)
    network("wavlm", of("WavLMModel", "WavLMConfig", ["input_values"],
                        [lambda: normal(1, 1600)], **SMALL, **conv), "script",
            16)
    network("data2vec_audio", of(
        "Data2VecAudioModel", "Data2VecAudioConfig", ["input_values"], heard,
        **SMALL, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
        num_feat_extract_layers=2, num_conv_pos_embeddings=5,
        num_conv_pos_embedding_groups=4, conv_pos_kernel_size=5), "script", 15)
    network("ast", of("ASTForAudioClassification", "ASTConfig",
                      ["input_values"], [lambda: normal(1, 64, 32)],
                      hidden_size=32, num_hidden_layers=2,
                      num_attention_heads=4, intermediate_size=48,
                      max_length=64, num_mel_bins=32), "script", 14)
    whisper = dict(vocab_size=100, d_model=32, encoder_layers=2,
                   decoder_layers=2, encoder_attention_heads=4,
                   decoder_attention_heads=4, encoder_ffn_dim=48,
                   decoder_ffn_dim=48, num_mel_bins=16,
                   max_source_positions=20, pad_token_id=0, bos_token_id=1,
                   eos_token_id=2, decoder_start_token_id=1)
    network("whisper_whole", of(
        "WhisperForConditionalGeneration", "WhisperConfig",
        ["input_features", "decoder_input_ids"],
        [lambda: normal(1, 16, 40), lambda: ids(1, 5)], lambda o: o.logits,
        {"use_cache": False}, **whisper), "script", 14)
    network("speech_encoder", of(
        "Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig",
        ["input_values"], [lambda: normal(1, 1600)],
        position_embeddings_type="relative", **SMALL, **conv), "script", 16)
    network("encodec", of(
        "EncodecModel", "EncodecConfig", ["input_values"],
        [lambda: normal(1, 1, 640)], num_filters=4, upsampling_ratios=[4, 2],
        hidden_size=16, codebook_size=16, codebook_dim=16, num_lstm_layers=1,
        target_bandwidths=[24.0]), "script", 16)
    network("clap_audio", of(
        "ClapAudioModelWithProjection", "ClapAudioConfig", ["input_features"],
        [lambda: normal(1, 1, 64, 32)], num_mel_bins=32, spec_size=64,
        patch_size=4, patch_embeds_hidden_size=16, hidden_size=32,
        depths=[1, 1], num_attention_heads=[2, 2], window_size=4,
        num_hidden_layers=2), "script", 16)

    def tacotron_like():
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.e = nn.Embedding(40, 24)
                self.c = nn.Sequential(nn.Conv1d(24, 24, 5, padding=2),
                                       nn.BatchNorm1d(24), nn.Tanh())
                self.r = nn.LSTM(24, 16, bidirectional=True, batch_first=True)
                self.g = nn.GRU(32, 20, 2, batch_first=True)
                self.o = nn.ConvTranspose1d(20, 8, 4, 2, 1)
                self.p = nn.PReLU(8)

            def forward(self, x):
                y = self.c(self.e(x).transpose(1, 2)).transpose(1, 2)
                y = self.g(self.r(y)[0])[0]
                return self.p(self.o(y.transpose(1, 2)))
        return Net(), (ids(2, 9, below=40),)
    network("speech_lstm_gru", tacotron_like, "script", 11, BATCH)
    network("speech_lstm_gru_dynamo", tacotron_like, "dynamo", 18)

    def tcn():
        from torch import nn
        return nn.Sequential(
            nn.Conv1d(4, 8, 3, padding=4, dilation=2), nn.GLU(1),
            nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 8, 3, groups=2)),
            nn.PReLU(), nn.InstanceNorm1d(8, affine=True), nn.Dropout(0.2),
            nn.Upsample(scale_factor=2, mode="linear"),
            nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.LogSoftmax(-1)), \
            (normal(2, 4, 28),)
    network("tcn", tcn, "script", 12)

    def stft_net():
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                n = torch.arange(64.)
                k = torch.arange(33.)
                a = 2 * torch.pi * k[:, None] * n / 64
                w = torch.hann_window(64)
                self.register_buffer("w", torch.cat(
                    [torch.cos(a) * w, -torch.sin(a) * w])[:, None])
                self.register_buffer("mel", torch.rand(16, 33))
                self.net = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(),
                                         nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                         nn.Linear(4, 5), nn.Sigmoid())

            def forward(self, x):
                s = nn.functional.conv1d(nn.functional.pad(
                    x[:, None], (32, 32), mode="reflect"), self.w, stride=16)
                p = s[:, :33] ** 2 + s[:, 33:] ** 2
                m = torch.log10(torch.clamp(self.mel @ p, min=1e-10))
                m = torch.maximum(m, m.amax((1, 2), keepdim=True) - 8)
                return self.net((m[:, None] + 4) / 4)
        return Net(), (normal(2, 512),)
    network("log_mel", stft_net, "script", 16, BATCH)


def plain_networks():
    """What other tools make: trees without branches, factorisation, mixtures."""
    def forest():
        import torch
        from torch import nn

        class Net(nn.Module):  # as trees are written in matrices
            def __init__(self):
                super().__init__()
                self.register_buffer("a", torch.eye(6)[torch.tensor(
                    [0, 3, 5, 1, 2, 4, 0])].T.contiguous())
                self.register_buffer("t", torch.randn(7))
                self.register_buffer("c", (torch.randint(-1, 2, (7, 8))).float())
                self.register_buffer("d", torch.tensor([1., 2, 0, 1, 2, 1, 0, 1]))
                self.register_buffer("v", torch.rand(8, 3))

            def forward(self, x):
                y = (x @ self.a < self.t).float()
                z = (y @ self.c == self.d).float() @ self.v
                return z, z.argmax(-1), torch.softmax(z, -1)
        return Net(), (normal(5, 6),)
    network("forest", forest, "script", 13, BATCH)

    def knn():
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("p", torch.randn(20, 4))
                self.register_buffer("y", torch.randn(20))

            def forward(self, x):
                d = ((x[:, None] - self.p[None]) ** 2).sum(-1)
                near, at = torch.topk(d, 3, largest=False)
                w = 1 / (near.sqrt() + 1e-6)
                return (w * self.y[at]).sum(-1) / w.sum(-1)
        return Net(), (normal(5, 4),)
    network("nearest", knn, "script", 12, BATCH)

    def gp():
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("x", torch.randn(12, 3))
                self.register_buffer("k", torch.randn(12, 12) * 0.1)
                self.register_buffer("alpha", torch.randn(12, 1))

            def forward(self, x):
                d = torch.cdist(x, self.x)
                k = torch.exp(-0.5 * d ** 2)
                return k @ self.alpha, 1 - ((k @ self.k) * k).sum(-1)
        return Net(), (normal(5, 3),)
    network("gaussian_process", gp, "script", 14)

    def forecast():
        import torch
        from torch import nn

        class Net(nn.Module):  # N-BEATS's basis and a decomposition
            def __init__(self):
                super().__init__()
                self.f = nn.Sequential(nn.Linear(24, 32), nn.ReLU(),
                                       nn.Linear(32, 8))
                t = torch.arange(36.) / 36
                self.register_buffer("basis", torch.stack(
                    [t ** i for i in range(8)]))
                self.pool = nn.AvgPool1d(5, 1, 0)

            def forward(self, x):
                m, s = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
                x = (x - m) / s
                trend = self.pool(nn.functional.pad(
                    x[:, None], (2, 2), mode="replicate"))[:, 0]
                y = self.f(x - trend) @ self.basis
                return y[:, 24:] * s + m, x - y[:, :24]
        return Net(), (normal(4, 24),)
    network("forecast", forecast, "script", 15, BATCH)
    network("forecast_dynamo", forecast, "dynamo", 18, BATCH)

    def deepfm():
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.e = nn.ModuleList([nn.Embedding(n, 8) for n in (9, 5, 30)])
                self.w = nn.ModuleList([nn.Embedding(n, 1) for n in (9, 5, 30)])
                self.d = nn.Sequential(nn.Linear(28, 16), nn.BatchNorm1d(16),
                                       nn.ReLU(), nn.Linear(16, 1))

            def forward(self, x, dense):
                e = torch.stack([m(x[:, i]) for i, m in enumerate(self.e)], 1)
                fm = 0.5 * (e.sum(1) ** 2 - (e ** 2).sum(1)).sum(1, keepdim=True)
                w = sum(m(x[:, i]) for i, m in enumerate(self.w))
                return torch.sigmoid(fm + w + self.d(torch.cat(
                    [e.flatten(1), dense], 1)))
        return Net(), (ids(4, 3, below=5), normal(4, 4))
    network("deepfm", deepfm, "script", 11, {0: {0: "batch"}, 1: {0: "batch"}})

    def gat():
        import torch
        from torch import nn

        class Net(nn.Module):  # a graph's edges as an input
            def __init__(self):
                super().__init__()
                self.w = nn.Linear(6, 8)
                self.a = nn.Linear(16, 1)

            def forward(self, x, e):
                h = self.w(x)
                s, d = h[e[0]], h[e[1]]
                a = nn.functional.leaky_relu(self.a(torch.cat([s, d], 1)), 0.2)
                a = torch.exp(a)
                at = e[1][:, None]
                z = torch.zeros(7, 1).scatter_add(0, at, a)
                y = torch.zeros(7, 8).scatter_add(0, at.expand(-1, 8), a * s)
                return y / (z + 1e-6)
        return Net(), (normal(7, 6), torch_edges())
    network("graph_attention", gat, "script", 16)


def torch_edges():
    import torch
    return torch.stack([torch.randint(0, 7, (15,)), torch.randint(0, 7, (15,))])


torchvision_networks()
timm_networks()
text_networks()
picture_networks()
sound_networks()
plain_networks()


# ---- to a folder ---------------------------------------------------------------

def plain_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False,
                    scale=None, enable_gqa=False):
    """What the old exporter has no operator for before opset 14."""
    import torch
    if enable_gqa:
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
        v = v.repeat_interleave(q.shape[-3] // v.shape[-3], -3)
    s = q @ k.transpose(-2, -1) * (scale or q.shape[-1] ** -0.5)
    if is_causal:
        s = s + torch.full(s.shape[-2:], -1e9).triu(1)
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, -1e9) if attn_mask.dtype == torch.bool \
            else s + attn_mask
    return torch.softmax(s, -1) @ v


def export(name, folder):
    import torch
    build, exporter, opset, symbols = NETWORKS[name]
    own = torch.nn.functional.scaled_dot_product_attention
    if opset < 14:
        torch.nn.functional.scaled_dot_product_attention = plain_attention
    try:
        export_as(name, folder, build, exporter, opset, symbols)
    finally:
        torch.nn.functional.scaled_dot_product_attention = own


def export_as(name, folder, build, exporter, opset, symbols):
    import torch
    path = os.path.join(folder, name + ".onnx")
    torch.manual_seed(3)
    np.random.seed(3)
    model, x = build()
    seeded(model)
    names = ["x%d" % i for i in range(len(x))]
    with torch.no_grad():
        if exporter == "dynamo":
            more = {}
            if symbols:
                more["dynamic_shapes"] = (tuple(
                    symbols.get(i, {}) for i in range(len(x))),) \
                    if takes_any(model) else tuple(
                        symbols.get(i, {}) for i in range(len(x)))
            torch.onnx.export(model, x, path + ".part", dynamo=True,
                              external_data=False, verbose=False,
                              opset_version=opset, input_names=names, **more)
        else:
            axes = {names[i]: s for i, s in (symbols or {}).items()}
            torch.onnx.export(model, x, path + ".part", dynamo=False,
                              opset_version=opset, input_names=names,
                              dynamic_axes=axes)
    import onnx
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    s = onnxruntime.InferenceSession(path + ".part",
                                     providers=["CPUExecutionProvider"])
    feed = {i.name: a for i, a in zip(
        s.get_inputs(), [v.numpy() for k, v in zip(names, x)
                         if k in [i.name for i in s.get_inputs()]])}
    want = dict(zip([o.name for o in s.get_outputs()], s.run(None, feed)))
    np.savez(os.path.join(folder, name + ".npz"),
             **{"in." + k: v for k, v in feed.items()},
             **{"out." + k: v for k, v in want.items()})
    given = onnx.load(path + ".part", load_external_data=False).graph.input
    dims, batch = {}, None
    for v in given:
        for k, d in enumerate(v.type.tensor_type.shape.dim):
            if d.dim_param:
                n = feed[v.name].shape[k]
                if batch is None and k == 0:
                    batch = (d.dim_param, n)
                elif not batch or d.dim_param != batch[0]:
                    dims[d.dim_param] = n
    with open(os.path.join(folder, name + ".json"), "w") as f:
        json.dump({"dims": dims, "batch": batch}, f)
    os.rename(path + ".part", path)


def takes_any(model):
    import inspect
    return any(p.kind == p.VAR_POSITIONAL for p in
               inspect.signature(model.forward).parameters.values())


# ---- from it -------------------------------------------------------------------

def command(args):
    p = subprocess.run(args, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError("%s: status %d: %s" % (
            " ".join(args[:3]), p.returncode,
            (p.stderr or p.stdout)[:900].replace("\n", " | ")))
    return p.stdout


def runtime(folder):
    at = os.path.join(folder, "ref.a")
    if not os.path.exists(at):
        r = SRC + "/runtime"
        command(["sh", "-c", "d=$(mktemp -d) && cd $d && cc -std=gnu11 -O2 "
                 "-fopenmp -I %s -c %s/ref*.c %s/base.c %s/safetensors*.c && "
                 "ar rc %s *.o && rm -r $d" % (r, r, r, r,
                                               os.path.abspath(at))])
    return at


def errors(got, want, legal):
    """The worst norm-relative error; an output whose name import had to choose
    is found by its size."""
    worst = 0
    for k, w in want.items():
        if not w.size:
            continue
        g = got.get(legal(k), got.get(k))
        if g is None:
            g = next((v for v in got.values() if v.size == w.size), None)
        if g is None:
            return float("inf")
        g = g.astype(np.float64).reshape(w.shape)
        w = w.astype(np.float64)
        d = np.linalg.norm(g - w) / max(np.linalg.norm(w), 1e-30)
        worst = max(worst, d) if d == d else float("inf")
    return worst


def check(name, folder):
    from onnx_networks import legal, read_st, write_st
    base = os.path.join(folder, name)
    kept = np.load(base + ".npz")
    feed = {k[3:]: kept[k] for k in kept if k.startswith("in.")}
    want = {k[4:]: kept[k] for k in kept if k.startswith("out.")}
    with open(base + ".json") as f:
        said = json.load(f)
    for end in (".dcl", ".safetensors"):
        if os.path.exists(base + end):
            os.unlink(base + end)
    options = []
    for k, v in said["dims"].items():
        options += ["--dim", "%s=%d" % (k, v)]
    begin = time.time()
    command([DCC, "import", base + ".onnx", "-o", base + ".dcl"] + options)
    took = time.time() - begin
    text = open(base + ".dcl").read()
    size = ["-D", "B=%d" % said["batch"][1]] if said["batch"] and \
        "dim B =" in text else []
    line = "%-28s %3d lines, import %.2f s" % (name, text.count("\n"), took)
    write_st(base + ".in", {legal(k): v for k, v in feed.items()})
    command([DCC, "--emit=ref"] + size + [base + ".dcl", "-o", base + ".c"])
    command(["sh", "-c", "cc -std=gnu11 -w -O1 -fopenmp -I %s/runtime -o "
             "%s.ref %s.c %s -lm" % (SRC, base, base, runtime(folder))])
    weights = ["--weights", base + ".safetensors"] if os.path.exists(
        base + ".safetensors") else []
    command([base + ".ref"] + weights + ["--in", base + ".in", "--out",
                                         base + ".out"])
    e = errors(read_st(base + ".out"), want, legal)
    line += ", error %.2g" % e
    counts = []
    for target in ("h200", "sm_80"):
        for t in ("f32", "f16") if "type E =" in text else ("f32",):
            typed = ["-D", "E=" + t] if "type E =" in text else []
            begin = time.time()
            said_ = command([DCC, base + ".dcl", "--target=" + target,
                             "--explain", "-o", base + ".cu"] + typed + size)
            at = said_.find("launch graph: ")
            counts.append("%s %s %s (%.1f s)" % (
                target, t, said_[at + 14:].split()[0] if at >= 0 else "?",
                time.time() - begin))
    line += ", launches " + ", ".join(counts)
    good = e <= 1e-3
    print(line + ("" if good else " WRONG"), flush=True)
    for end in (".c", ".ref", ".cu", ".h", ".out", ".in", ".safetensors"):
        if good and os.path.exists(base + end):
            os.unlink(base + end)
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--export", action="store_true")
    p.add_argument("--check", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("folder")
    p.add_argument("names", nargs="*")
    o = p.parse_args()
    warnings.filterwarnings("ignore")
    good = True
    names = [n for n in NETWORKS if not o.names or
             any(fnmatch.fnmatch(n, q) for q in o.names)]
    if o.list:
        print("\n".join(names))
        return 0
    os.makedirs(o.folder, exist_ok=True)
    for name in names:
        path = os.path.join(o.folder, name + ".onnx")
        try:
            if (o.export or not o.check) and not os.path.exists(path):
                begin = time.time()
                export(name, o.folder)
                print("%-28s exported in %.0f s" % (
                    name, time.time() - begin), flush=True)
            if (o.check or not o.export) and os.path.exists(path):
                good = check(name, o.folder) and good
        except Exception as e:
            good = False
            print("%-28s FAILED %s: %s" % (name, type(e).__name__, " | ".join(
                str(e).splitlines())[-900:]), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
