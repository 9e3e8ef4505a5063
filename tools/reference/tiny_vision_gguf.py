"""Writes libs/inference/src/families/vision-language/__fixtures__/gguf/: the models of tiny_vision_checkpoints.py as users
of llama.cpp have them, a GGUF file of the decoder and one of the part that sees (mmproj). Names and values are those of
llama.cpp's convert_hf_to_gguf.py.

    /tmp/reference/bin/pip install gguf==0.19.0 transformers==5.23.0 torch==2.15.0
    /tmp/reference/bin/python tools/reference/tiny_vision_gguf.py libs/inference/src/families/vision-language/__fixtures__
"""

import json
import os
import re
import sys
from types import SimpleNamespace

import gguf
import numpy as np
from safetensors.torch import load_file

from tiny_decoders import stored_delta

ARCHITECTURES = {"qwen2-vl": "qwen2vl", "qwen2.5-vl": "qwen2vl", "qwen3-vl": "qwen3vl", "qwen3-vl-moe": "qwen3vlmoe", "qwen3.5": "qwen35",
                 "qwen3.5-moe": "qwen35moe", "gemma3": "gemma3", "llava": "llama", "smolvlm": "llama"}
PROJECTORS = {"qwen2-vl": "qwen2vl_merger", "qwen2.5-vl": "qwen2.5vl_merger", "qwen3-vl": "qwen3vl_merger", "qwen3-vl-moe": "qwen3vl_merger",
              "qwen3.5": "qwen3vl_merger", "qwen3.5-moe": "qwen3vl_merger", "gemma3": "gemma3", "llava": "mlp", "smolvlm": "idefics3"}
VISION = ("visual.", "model.visual.", "vision_tower.", "multi_modal_projector.", "model.vision_model.", "model.connector.")


def add(writer, name, values):
    values = np.ascontiguousarray(values)
    writer.add_tensor(name, values.astype(np.float16) if values.ndim > 1 else values.astype(np.float32))


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_tokenizer(writer, folder):
    tokenizer = json.load(open(os.path.join(folder, "tokenizer.json")))
    vocabulary = {**tokenizer["model"]["vocab"], **{token["content"]: token["id"] for token in tokenizer["added_tokens"]}}
    tokens = sorted(vocabulary, key=vocabulary.get)
    added = {token["content"] for token in tokenizer["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in added else 1 for token in tokens])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(vocabulary["<|im_start|>"])
    writer.add_eos_token_id(vocabulary["<end_of_utterance>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(json.load(open(os.path.join(folder, "chat_template.json")))["chat_template"])


def permuted(values, heads):
    """Rows of queries and keys as llama.cpp rotates them, which pairs neighbors."""
    return values.reshape(heads, 2, -1, values.shape[1]).swapaxes(1, 2).reshape(values.shape)


def write_delta(writer, text):
    """The keys of layers with a state, and the share of a head that rotates."""
    writer.add_rope_dimension_count(int(text["head_dim"] * text["rope_parameters"]["partial_rotary_factor"]))
    writer.add_ssm_conv_kernel(text["linear_conv_kernel_dim"])
    writer.add_ssm_state_size(text["linear_key_head_dim"])
    writer.add_ssm_group_count(text["linear_num_key_heads"])
    writer.add_ssm_time_step_rank(text["linear_num_value_heads"])
    writer.add_ssm_inner_size(text["linear_num_value_heads"] * text["linear_value_head_dim"])
    writer.add_full_attention_interval(text["full_attention_interval"])
    if "shared_expert_intermediate_size" in text:
        writer.add_expert_shared_feed_forward_length(text["shared_expert_intermediate_size"])


def write_text(name, folder, path, config, weights):
    arch = ARCHITECTURES[name]
    text = config.get("text_config", config)
    writer = gguf.GGUFWriter(path, arch)
    writer.add_name("Tiny " + name)
    head = text.get("head_dim", text["hidden_size"] // text["num_attention_heads"])
    writer.add_context_length(text["max_position_embeddings"])
    writer.add_embedding_length(text["hidden_size"])
    writer.add_block_count(text["num_hidden_layers"])
    if "intermediate_size" in text:
        writer.add_feed_forward_length(text["intermediate_size"])
    writer.add_head_count(text["num_attention_heads"])
    writer.add_head_count_kv(text["num_key_value_heads"])
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_layer_norm_rms_eps(text.get("rms_norm_eps", 1e-6))
    rotary = text.get("rope_parameters", text)
    writer.add_rope_freq_base(float(rotary.get("rope_theta", 1e4 if arch == "llama" else 1e6)))
    sections = text.get("rope_parameters", text.get("rope_scaling", {})).get("mrope_section")
    if sections:
        writer.add_rope_dimension_sections([*sections, 0])
    if name.startswith("qwen3-vl"):
        writer.add_uint32(arch + ".n_deepstack_layers", len(config["vision_config"]["deepstack_visual_indexes"]))
    if name.startswith("qwen3.5"):
        write_delta(writer, text)
    if arch in ("qwen3vlmoe", "qwen35moe"):
        writer.add_expert_count(text["num_experts"])
        writer.add_expert_used_count(text["num_experts_per_tok"])
        writer.add_expert_feed_forward_length(text["moe_intermediate_size"])
    if name == "gemma3":
        writer.add_sliding_window(text["sliding_window"])
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(text["rope_scaling"]["factor"])
    write_tokenizer(writer, folder)
    names = gguf.get_tensor_name_map(next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == arch), text["num_hidden_layers"])
    for stored, tensor in weights.items():
        if stored.startswith((*VISION, "mtp.")):
            continue
        inner = stored.replace("language_model.model.", "model.").replace("model.language_model.", "model.")
        inner = inner.replace("language_model.lm_head", "lm_head").replace("model.text_model.", "model.")
        values = tensor.float().numpy()
        if name == "gemma3" and "norm" in inner:
            values = values + 1
        if arch == "llama" and ("q_proj" in inner or "k_proj" in inner):
            values = permuted(values, text["num_attention_heads" if "q_proj" in inner else "num_key_value_heads"])
        if name.startswith("qwen3.5") and "norm" in inner and "linear_attn" not in inner:
            values = values + 1
        if ".linear_attn." in inner:
            values = stored_delta(SimpleNamespace(**text), inner, values)
        if inner.endswith((".A_log", ".dt_bias")):
            add(writer, f"blk.{inner.split('.')[2]}.{'ssm_a' if inner.endswith('.A_log') else 'ssm_dt.bias'}", values)
            continue
        if "shared_expert_gate" in inner:
            values = values.squeeze()
        if ".mlp.experts." in inner:
            stack, part = inner.rsplit(".", 1)
            values = values.swapaxes(1, 2) if arch == "qwen3vlmoe" else values
            kinds = ("gate", "up") if part == "gate_up_proj" else ("down",)
            for kind, half in zip(kinds, np.split(values, len(kinds), axis=1)):
                add(writer, names.get_name(f"{stack}.{kind}_proj.weight", (".weight",)), half)
            continue
        add(writer, names.get_name(inner, (".weight", ".bias")), values)
    finish(writer)


QWEN_PARTS = {
    "norm1": "ln1", "norm2": "ln2", "attn.proj": "attn_out", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down", "mlp.linear_fc1": "ffn_up",
    "mlp.linear_fc2": "ffn_down", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "attn.qkv": "attn_qkv",
}
SIGLIP_PARTS = {
    "layer_norm1": "ln1", "layer_norm2": "ln2", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.out_proj": "attn_out", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
}
OUTER = {
    "patch_embed.proj": "v.patch_embd", "pos_embed": "v.position_embd", "merger.norm": "v.post_ln", "merger.ln_q": "v.post_ln",
    "merger.linear_fc1": "mm.0", "merger.linear_fc2": "mm.2", "merger.mlp.0": "mm.0", "merger.mlp.2": "mm.2",
    "embeddings.patch_embedding": "v.patch_embd", "embeddings.position_embedding": "v.position_embd", "post_layernorm": "v.post_ln",
    "embeddings.class_embedding": "v.class_embd", "pre_layrnorm": "v.pre_ln", "linear_1": "mm.0", "linear_2": "mm.2",
    "mm_soft_emb_norm": "mm.soft_emb_norm", "mm_input_projection": "mm.input_projection",
    "modality_projection.proj": "mm.model.fc",
}


def projector_name(stored, deep_layers):
    name = stored.replace("mm_input_projection_weight", "mm_input_projection.weight")
    for prefix in ("model.visual.", "visual.", "vision_tower.vision_model.", "multi_modal_projector.", "model.vision_model.", "model.connector."):
        name = name.removeprefix(prefix)
    name = name.removeprefix("encoder.")
    if name in OUTER:
        return OUTER[name]
    module, end = name.rsplit(".", 1)
    if module in OUTER:
        return f"{OUTER[module]}.{end}"
    kind, number, part = module.split(".", 2)
    if kind == "deepstack_merger_list":
        return f"v.deepstack.{deep_layers[int(number)]}.{part.replace('linear_', '')}.{end}"
    return f"v.blk.{number}.{(QWEN_PARTS if kind == 'blocks' else SIGLIP_PARTS)[part]}.{end}"


def write_projector(name, folder, path, config, weights):
    vision = config["vision_config"]
    preprocessor = json.load(open(os.path.join(folder, "preprocessor_config.json")))
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_string("general.type", "mmproj")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", PROJECTORS[name])
    places = vision.get("num_position_embeddings")
    writer.add_uint32("clip.vision.image_size", vision.get("image_size", int(places**0.5) * vision["patch_size"] if places else 560))
    writer.add_uint32("clip.vision.patch_size", vision["patch_size"])
    # Of Qwen2-VL, the converter writes the width of the decoder, and nobody reads it.
    writer.add_uint32("clip.vision.embedding_length", vision.get("embed_dim", vision["hidden_size"]))
    writer.add_uint32("clip.vision.feed_forward_length", vision.get("intermediate_size", vision["hidden_size"]))
    writer.add_uint32("clip.vision.projection_dim", config.get("text_config", config)["hidden_size"])
    # The converter of LLaVA leaves the last layer out, and its norm.
    left_out = 1 if name == "llava" else 0
    writer.add_uint32("clip.vision.block_count", vision.get("depth", vision.get("num_hidden_layers")) - left_out)
    writer.add_uint32("clip.vision.attention.head_count", vision.get("num_heads", vision.get("num_attention_heads")))
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5 if name == "llava" else 1e-6)
    writer.add_array("clip.vision.image_mean", preprocessor["image_mean"])
    writer.add_array("clip.vision.image_std", preprocessor["image_std"])
    sizes = preprocessor.get("size", {})
    if name == "llava":
        writer.add_bool("clip.has_llava_projector", True)
        writer.add_bool("clip.use_gelu", False)
    elif name.startswith("qwen"):
        writer.add_uint32("clip.vision.image_min_pixels", preprocessor.get("min_pixels", sizes.get("shortest_edge")))
        writer.add_uint32("clip.vision.image_max_pixels", preprocessor.get("max_pixels", sizes.get("longest_edge")))
    deep_layers = vision.get("deepstack_visual_indexes", [])
    if PROJECTORS[name] == "qwen3vl_merger":
        writer.add_bool("clip.use_gelu", True)
        writer.add_uint32("clip.vision.spatial_merge_size", vision["spatial_merge_size"])
        writer.add_array("clip.vision.is_deepstack_layers", [layer in deep_layers for layer in range(vision["depth"])])
    elif name == "qwen2.5-vl":
        writer.add_bool("clip.use_silu", True)
        writer.add_uint32("clip.vision.n_wa_pattern", vision["fullatt_block_indexes"][0] + 1)
        writer.add_uint32("clip.vision.window_size", vision["window_size"])
    elif name == "gemma3":
        writer.add_bool("clip.use_gelu", True)
        side = vision["image_size"] // vision["patch_size"]
        writer.add_uint32("clip.vision.projector.scale_factor", side // int(config["mm_tokens_per_image"] ** 0.5))
    elif name == "smolvlm":
        writer.add_bool("clip.use_gelu", True)
        writer.add_uint32("clip.vision.projector.scale_factor", config["scale_factor"])
        writer.add_uint32("clip.vision.preproc_image_size", sizes["longest_edge"])
    for stored, tensor in weights.items():
        if not stored.startswith(VISION):
            continue
        if name == "llava" and ("post_layernorm" in stored or f"layers.{vision['num_hidden_layers'] - 1}." in stored):
            continue
        values = tensor.float().numpy()
        target = projector_name(stored, deep_layers)
        if name == "llava":
            # Its converter names the layers of a feed-forward the other way around.
            target = re.sub(r"ffn_(up|down)", lambda found: "ffn_down" if found[1] == "up" else "ffn_up", target)
        if target == "v.patch_embd.weight" and values.ndim == 5:
            # Two convolutions of an image instead of one of a video.
            add(writer, target, values[:, :, 0])
            add(writer, target + ".1", values[:, :, 1])
        elif ".attn_qkv." in target and PROJECTORS[name] != "qwen3vl_merger":
            for part, third in zip("qkv", np.split(values, 3)):
                add(writer, target.replace("attn_qkv", "attn_" + part), third)
        else:
            add(writer, target, values + 1 if "soft_emb_norm" in target else values)
    finish(writer)


def main():
    fixtures = sys.argv[1]
    for name in sys.argv[2:] or ARCHITECTURES:
        folder = os.path.join(fixtures, "checkpoints", name)
        target = os.path.join(fixtures, "gguf", name)
        os.makedirs(target, exist_ok=True)
        config = json.load(open(os.path.join(folder, "config.json")))
        weights = load_file(os.path.join(folder, "model.safetensors"))
        write_text(name, folder, os.path.join(target, f"Tiny-{name}-F16.gguf"), config, weights)
        write_projector(name, folder, os.path.join(target, f"mmproj-Tiny-{name}-F16.gguf"), config, weights)


if __name__ == "__main__":
    main()
