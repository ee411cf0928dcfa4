#!/usr/bin/env python3
"""Compares nets.py with torchvision's and transformers' own networks.

The same weights, loaded by name, must give the same outputs in double.
Needs torch, torchvision and transformers.
"""
import sys

import torch
import torchvision.models as tv
import transformers as hf

import reference

IMAGE = {"resnet18": (tv.resnet18, 64), "resnet50": (tv.resnet50, 64),
         "mobilenetv2": (tv.mobilenet_v2, 64), "vgg16": (tv.vgg16, 224),
         "vit_b16": (tv.vit_b_16, 224), "densenet121": (tv.densenet121, 64),
         "efficientnet_b0": (tv.efficientnet_b0, 64),
         "convnext_tiny": (tv.convnext_tiny, 64)}
TEXT = {"L": 2, "S": 16}


def compare(name, case, theirs, call, within=1e-12):
    """Loads the case's weights into `theirs` and compares the last output."""
    got = theirs.load_state_dict(case.weights.tensors, strict=False)
    lost = [k for k in got.missing_keys if not k.endswith("num_batches_tracked")
            and not k.startswith(("pooler.", "lm_head."))]
    with torch.no_grad():
        want = call(theirs.double().eval())
    ours, = case.ref.values()
    error = ((ours - want).norm() / want.norm()).item()
    right = error < within and not lost and not got.unexpected_keys
    print(f"{name:12} {error:.1e} {lost} {got.unexpected_keys}"
          f"{'' if right else '  WRONG'}")
    return right


def image(name):
    make, size = IMAGE[name]
    case = reference.Case(name, "f32", [1], {"S": size}, "cpu")
    return compare(name, case, make(weights=None),
                   lambda m: m(case.inputs[0]["x"].double()))


def bert():
    case = reference.Case("bert_base", "f32", [2], TEXT, "cpu")
    config = hf.BertConfig(num_hidden_layers=TEXT["L"])
    return compare("bert_base", case, hf.BertModel(config), lambda m: m(
        input_ids=case.inputs[0]["ids"].long()).last_hidden_state)


def gpt2(name):
    case = reference.Case(name, "f32", [2], TEXT, "cpu")
    ids = case.inputs[0].get("ids")
    if ids is None:                      # decode: one token a run
        ids = torch.stack([i["id"] for i in case.inputs], 1)
    last = slice(None) if name == "gpt2" else -1
    config = hf.GPT2Config(n_layer=TEXT["L"])
    return compare(name, case, hf.GPT2LMHeadModel(config), lambda m: m(
        input_ids=ids.long()).logits[:, last])


def smollm2(name):
    case = reference.Case(name, "f32", [2], {**TEXT, "V": 1000}, "cpu")
    ids = case.inputs[0].get("ids")
    if ids is None:
        ids = torch.stack([i["id"] for i in case.inputs], 1)
    last = slice(None) if name == "smollm2" else -1
    config = hf.LlamaConfig(
        vocab_size=1000, hidden_size=576, intermediate_size=1536,
        num_hidden_layers=TEXT["L"], num_attention_heads=9,
        num_key_value_heads=3, rms_norm_eps=1e-5, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0})
    return compare(name, case, hf.LlamaForCausalLM(config), lambda m: m(
        input_ids=ids.long()).logits[:, last], 1e-6)    # their angles are f32


def whisper():
    case = reference.Case("whisper_base", "f32", [1], {"L": 2}, "cpu")
    config = hf.WhisperConfig(
        d_model=512, encoder_layers=2, encoder_attention_heads=8,
        encoder_ffn_dim=2048, num_mel_bins=80)
    model = hf.models.whisper.modeling_whisper.WhisperEncoder(config)
    return compare("whisper_base", case, model, lambda m: m(
        case.inputs[0]["mel"].double()).last_hidden_state)


def main():
    right = [image(name) for name in IMAGE]
    right += [bert(), gpt2("gpt2"), gpt2("gpt2_decode"), smollm2("smollm2"),
              smollm2("smollm2_decode"), whisper()]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
