"""Writes libs/inference/src/families/decoder/__fixtures__/architectures/: for each decoder architecture a tiny configuration
with random weights as a GGUF file, and the logits and greedy texts that transformers computes with it in float32.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install transformers==5.23.0 torch==2.15.0 gguf==0.19.0
    /tmp/reference/bin/python tools/reference/tiny_decoders.py libs/inference/src/families/decoder/__fixtures__/architectures
"""

import json
import math
import os
import shutil
import sys

import gguf
import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM

from indexer_margin import watch_indexers

HIDDEN, HEADS, KEY_VALUE_HEADS, HEAD, FEED_FORWARD, VOCABULARY = 32, 4, 2, 8, 48, 96
SIZES = dict(
    vocab_size=VOCABULARY, hidden_size=HIDDEN, intermediate_size=FEED_FORWARD, num_attention_heads=HEADS,
    num_key_value_heads=KEY_VALUE_HEADS, head_dim=HEAD, max_position_embeddings=128, bos_token_id=None, eos_token_id=95,
    pad_token_id=None,
)  # fmt: skip
STEPS = 12
# Printable ASCII as a byte-level vocabulary; every prompt is one token per character.
TOKENS = ["\u0120", *(chr(code) for code in range(33, 126)), "th", "<|end|>"]
PROMPTS = ["Once upon a time, a small boat left the harbour.", "Why?", "The answer is 42"]
LONG_PROMPTS = [*PROMPTS[::2], "Why is it so?"]


def rope(kind="default", base=10000.0, **more):
    return {"rope_type": kind, "rope_theta": base, **more}


def case(name, arch, config, layers=2, **more):
    """`permute` is for architectures whose GGUF files have the two values of a rotary pair side by side; `whole`: the halves
    of whole heads, whatever rotates."""
    return {"permute": False, "keys": {}, "one_added": False, **more, "name": name, "arch": arch, "config": config, "layers": layers}


LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
YARN = dict(factor=4.0, original_max_position_embeddings=32)
LONG = dict(short_factor=[1.0, 1.1, 1.3, 1.6], long_factor=[1.5, 2.0, 4.0, 8.0])
DELTA = dict(
    layer_types=["linear_attention", "full_attention", "linear_attention", "full_attention", "linear_attention"],
    linear_conv_kernel_dim=4, linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=6,
    head_dim=16, rope_parameters=rope(base=1e6, partial_rotary_factor=0.25, mrope_section=[1, 1, 0], mrope_interleaved=True),
)  # fmt: skip
DELTA_KEYS = {
    "ssm.conv_kernel": 4, "ssm.state_size": 8, "ssm.group_count": 2, "ssm.time_step_rank": 6, "ssm.inner_size": 48,
    "rope.dimension_sections": [1, 1, 0, 0], "attention.recurrent_layers": [True, False, True, False, True],
}  # fmt: skip
NEXT = DELTA | dict(rope_parameters=rope(base=1e7, partial_rotary_factor=0.25))
NEXT_KEYS = {key: value for key, value in DELTA_KEYS.items() if not key.startswith("rope.")}
GRANITE = dict(
    embedding_multiplier=3.0, residual_multiplier=0.6, logits_scaling=0.7, attention_multiplier=0.25,
    shared_intermediate_size=FEED_FORWARD, mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_d_conv=4, mamba_expand=2,
)  # fmt: skip
GRANITE_KEYS = {
    "embedding_scale": 3.0, "residual_scale": 0.6, "logit_scale": 0.7, "attention.scale": 0.25, "ssm.conv_kernel": 4,
    "ssm.state_size": 8, "ssm.time_step_rank": 4, "ssm.inner_size": 64,
}  # fmt: skip
FALCON = dict(
    attention_in_multiplier=1.5, attention_out_multiplier=0.9, embedding_multiplier=2.5, key_multiplier=0.4,
    lm_head_multiplier=0.6, mlp_multipliers=[0.9, 0.6], ssm_in_multiplier=1.25, ssm_multipliers=[0.4, 0.25, 0.75, 0.5, 0.45],
    ssm_out_multiplier=0.8,
)  # fmt: skip

NEMOTRON = dict(
    head_dim=16, ssm_state_size=8, mamba_num_heads=4, mamba_head_dim=16, n_groups=2, conv_kernel=4, expand=2, time_step_min=1e-9,
    num_hidden_layers=None,
)  # fmt: skip
NEMOTRON_KEYS = {
    "attention.layer_norm_rms_epsilon": 1e-5, "ssm.conv_kernel": 4, "ssm.state_size": 8, "ssm.group_count": 2,
    "ssm.time_step_rank": 4, "ssm.inner_size": 64,
}  # fmt: skip

MAMBA_KEYS = {key: value for key, value in NEMOTRON_KEYS.items() if key.startswith("ssm.")}

MLA = dict(
    num_key_value_heads=HEADS, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4, head_dim=4, v_head_dim=12,
    n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=16, rms_norm_eps=1e-6,
)  # fmt: skip
MLA_KEYS = {
    "attention.kv_lora_rank": 16, "leading_dense_block_count": 1, "expert_count": 8, "expert_used_count": 3, "rope.dimension_count": 4,
    "expert_feed_forward_length": 16,
}  # fmt: skip
# Files of older converters have the sizes of a whole head, and one tensor for keys and values.
JOINED = {"attention.key_length": 12, "attention.value_length": 12}
APART = {
    "attention.head_count_kv": 1, "attention.key_length": 20, "attention.value_length": 16, "attention.key_length_mla": 12,
    "attention.value_length_mla": 12,
}  # fmt: skip

INDEXER = dict(index_n_heads=8, index_head_dim=8, index_topk=6)
INDEXER_KEYS = {"attention.indexer.head_count": 8, "attention.indexer.key_length": 8, "attention.indexer.top_k": 6}


def mla_rope(scale):
    return rope("yarn", mscale=scale, mscale_all_dim=scale, beta_fast=32.0, beta_slow=1.0, **YARN)


def mla_rope_keys(scale):
    return {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 32,
            "rope.scaling.yarn_log_multiplier": 0.1 * scale}  # fmt: skip


CASES = [
    case("llama", "llama", ("Llama", dict(rope_parameters=rope())), permute=True),
    case("llama-biased", "llama", ("Llama", dict(attention_bias=True, mlp_bias=True)), permute=True),
    case("llama-linear", "llama", ("Llama", dict(rope_parameters=rope("linear", factor=4.0))), permute=True,
         keys={"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}),
    case("llama-llama3", "llama", ("Llama", dict(rope_parameters=rope("llama3", 500.0, **LLAMA3), tie_word_embeddings=True)),
         permute=True),
    case("llama-yarn", "llama", ("Llama", dict(rope_parameters=rope("yarn", **YARN))), permute=True,
         keys={"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 32}),
    case("mistral", "llama", ("Mistral", dict(sliding_window=12)), permute=True, keys={"attention.sliding_window": 12}),
    case("ministral3", "mistral3", ("Ministral3", dict(rope_parameters=rope(
        "yarn", mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.5, beta_fast=32.0, beta_slow=1.0,
        factor=8.0, original_max_position_embeddings=16))), permute=True,
         keys={"rope.scaling.type": "yarn", "rope.scaling.factor": 8.0, "rope.scaling.original_context_length": 16,
               "attention.temperature_scale": 0.5}),
    case("qwen2", "qwen2", ("Qwen2", dict(tie_word_embeddings=True))),
    case("qwen3", "qwen3", ("Qwen3", dict(head_dim=16, rope_parameters=rope(base=1e6)))),
    # The long factors count where a text is longer than the original context; the short ones in a shortened conversion.
    case("phi3-long", "phi3", ("Phi3", dict(rope_parameters=rope("longrope", **LONG), original_max_position_embeddings=8)),
         keys={"rope.scaling.original_context_length": 8, "rope.scaling.attn_factor": math.sqrt(1 + math.log(16) / math.log(8))},
         prompts=LONG_PROMPTS),
    case("phi3", "phi3", ("Phi3", dict(rope_parameters=rope("longrope", **LONG), original_max_position_embeddings=64)),
         keys={"rope.scaling.original_context_length": 64, "rope.scaling.attn_factor": math.sqrt(1 + math.log(2) / math.log(64))},
         context=64),
    case("phi4-mini", "phi3", ("Phi3", dict(rope_parameters=rope(partial_rotary_factor=0.5), tie_word_embeddings=True,
                                            sliding_window=10)), keys={"attention.sliding_window": 10}),
    case("smollm3", "smollm3", ("SmolLM3", dict(rope_parameters=rope(base=5e4))), layers=5, permute=True),
    case("olmo2", "olmo2", ("Olmo2", dict(rope_parameters=rope(base=5e5)))),
    case("olmo3", "olmo2", ("Olmo3", dict(sliding_window=12, rope_parameters={
             "sliding_attention": rope(), "full_attention": rope("yarn", **YARN)})), layers=4,
         keys={"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 32,
               "attention.sliding_window": 12}),
    case("granite", "granite", ("Granite", dict(embedding_multiplier=3.0, residual_multiplier=0.6, logits_scaling=0.7,
                                                attention_multiplier=0.25, tie_word_embeddings=True)), permute=True,
         keys={"embedding_scale": 3.0, "residual_scale": 0.6, "logit_scale": 0.7, "attention.scale": 0.25}),
    case("gemma", "gemma", ("Gemma", dict(tie_word_embeddings=True, head_dim=12, num_key_value_heads=1)), one_added=True),
    case("gemma2", "gemma2", ("Gemma2", dict(tie_word_embeddings=True, sliding_window=12, query_pre_attn_scalar=8,
                                             attn_logit_softcapping=2.0, final_logit_softcapping=5.0)), layers=3, one_added=True,
         keys={"attention.sliding_window": 12, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 5.0}),
    case("gemma3", "gemma3", ("Gemma3Text", dict(
        tie_word_embeddings=True, sliding_window=12, query_pre_attn_scalar=8, intermediate_size=24, rope_parameters={
            "sliding_attention": rope(), "full_attention": rope("linear", 1e6, factor=8.0)})), layers=7, one_added=True,
         keys={"attention.sliding_window": 12, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0}),
    case("glm4", "glm4", ("Glm4", dict(rope_parameters=rope(partial_rotary_factor=0.5), attention_bias=True))),
    case("command-r", "command-r", ("Cohere", dict(use_qk_norm=True, logit_scale=0.5, tie_word_embeddings=True)),
         keys={"logit_scale": 0.5}),
    case("cohere2", "cohere2", ("Cohere2", dict(logit_scale=0.5, tie_word_embeddings=True, sliding_window=12)), layers=4,
         keys={"logit_scale": 0.5, "attention.sliding_window": 12}),
    case("mixtral", "llama", ("Mixtral", dict(num_local_experts=4, num_experts_per_tok=2, intermediate_size=32)), permute=True,
         keys={"expert_count": 4, "expert_used_count": 2}),
    case("qwen3-moe", "qwen3moe", ("Qwen3Moe", dict(
        num_experts=8, num_experts_per_tok=3, moe_intermediate_size=16, norm_topk_prob=True, decoder_sparse_step=1,
        mlp_only_layers=[])), keys={"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 16}),
    case("qwen2-moe", "qwen2moe", ("Qwen2Moe", dict(
        num_experts=8, num_experts_per_tok=3, moe_intermediate_size=16, shared_expert_intermediate_size=24,
        decoder_sparse_step=1, mlp_only_layers=[])),
         keys={"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 16,
               "expert_shared_feed_forward_length": 24}),
    case("ernie4.5", "ernie4_5", ("Ernie4_5", dict(rope_parameters=rope(base=5e5), tie_word_embeddings=True))),
    case("ernie4.5-moe", "ernie4_5-moe", ("Ernie4_5_Moe", dict(
        moe_num_experts=6, moe_k=3, moe_intermediate_size=16, moe_num_shared_experts=2, moe_layer_start_index=1,
        rope_parameters=rope(base=5e5))), layers=3,
         keys={"expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 16, "expert_shared_count": 2,
               "expert_shared_feed_forward_length": 32, "leading_dense_block_count": 1, "interleave_moe_layer_step": 1}),
    case("seed-oss", "seed_oss", ("SeedOss", dict(head_dim=16, rope_parameters=rope(base=1e7)))),
    case("exaone4", "exaone4", ("Exaone4", dict(
        rope_parameters=rope("llama3", 1e6, **LLAMA3), sliding_window=None, layer_types=["full_attention"] * 4,
        tie_word_embeddings=True)), layers=4),
    case("exaone4-window", "exaone4", ("Exaone4", dict(
        rope_parameters=rope("llama3", 1e6, **LLAMA3), sliding_window=12, sliding_window_pattern=4)), layers=5,
         keys={"attention.sliding_window": 12}),
    # The converter of the format writes the base that alpha scales.
    case("hunyuan", "hunyuan-dense", ("HunYuanDenseV1", dict(rope_parameters=rope("dynamic", alpha=50.0, factor=1.0),
                                                             tie_word_embeddings=True)),
         keys={"rope.freq_base": 10000.0 * 50.0 ** (HEAD / (HEAD - 2)), "rope.scaling.type": "none"}),
    case("hunyuan-moe", "hunyuan-moe", ("HunYuanMoEV1", dict(
        rope_parameters=rope("dynamic", alpha=50.0, factor=1.0), tie_word_embeddings=True, num_experts=6, moe_topk=3,
        intermediate_size=16)),
         keys={"rope.freq_base": 10000.0 * 50.0 ** (HEAD / (HEAD - 2)), "rope.scaling.type": "none", "expert_count": 6,
               "expert_used_count": 3, "expert_feed_forward_length": 16, "expert_shared_feed_forward_length": 16,
               "expert_shared_count": 1}),
    case("glm", "chatglm", ("Glm", dict(rope_parameters=rope(partial_rotary_factor=0.5), attention_bias=True))),
    case("glm4-moe", "glm4moe", ("Glm4Moe", dict(
        n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=16, first_k_dense_replace=1, attention_bias=True,
        use_qk_norm=True, routed_scaling_factor=2.5, rope_parameters=rope(partial_rotary_factor=0.5))), layers=3,
         keys={"expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 16, "expert_shared_count": 1,
               "leading_dense_block_count": 1, "expert_gating_func": 2, "expert_weights_scale": 2.5,
               "expert_weights_norm": True, "expert_group_count": 1, "nextn_predict_layers": 1}, ahead=1),
    case("minimax-m2", "minimax-m2", ("MiniMaxM2", dict(
        num_local_experts=6, num_experts_per_tok=3, intermediate_size=16, rope_parameters=rope(partial_rotary_factor=0.5))),
         keys={"expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 16, "expert_gating_func": 2}),
    case("olmoe", "olmoe", ("Olmoe", dict(num_experts=6, num_experts_per_tok=3, intermediate_size=16, norm_topk_prob=False)),
         keys={"expert_count": 6, "expert_used_count": 3}),
    case("gpt-oss", "gpt-oss", ("GptOss", dict(
        num_local_experts=4, num_experts_per_tok=2, intermediate_size=32, sliding_window=12,
        rope_parameters=rope("yarn", 1000.0, beta_fast=32.0, beta_slow=1.0, truncate=False, **YARN))), layers=3,
         keys={"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 32, "attention.sliding_window": 12,
               "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 32}),
    case("deepseek-v2-lite", "deepseek2", ("DeepseekV2", dict(
        **MLA, q_lora_rank=None, n_shared_experts=2, first_k_dense_replace=1, rope_parameters=mla_rope(0.707))), layers=3,
         keys={**MLA_KEYS, **JOINED, **mla_rope_keys(0.707), "expert_shared_count": 2, "expert_weights_scale": 1.0}),
    case("deepseek-v2", "deepseek2", ("DeepseekV2", dict(
        **MLA, q_lora_rank=24, n_shared_experts=1, first_k_dense_replace=1, topk_method="group_limited_greedy", n_group=4,
        topk_group=2, routed_scaling_factor=3.0, rope_parameters=mla_rope(0.707))), layers=3,
         keys={**MLA_KEYS, **APART, **mla_rope_keys(0.707), "attention.q_lora_rank": 24, "expert_shared_count": 1,
               "expert_weights_scale": 3.0, "expert_group_count": 4, "expert_group_used_count": 2}),
    case("deepseek-v3", "deepseek2", ("DeepseekV3", dict(
        **MLA, q_lora_rank=24, n_shared_experts=1, first_k_dense_replace=1, n_group=4, topk_group=2, routed_scaling_factor=2.5,
        rope_parameters=mla_rope(1.0))), layers=3,
         keys={**MLA_KEYS, **APART, **mla_rope_keys(1.0), "attention.q_lora_rank": 24, "expert_shared_count": 1,
               "expert_weights_scale": 2.5, "expert_weights_norm": True, "expert_gating_func": 2, "expert_group_count": 4,
               "expert_group_used_count": 2, "nextn_predict_layers": 1}, ahead=1),
    case("glm4-moe-lite", "deepseek2", ("Glm4MoeLite", dict(
        **MLA, q_lora_rank=24, n_shared_experts=1, routed_scaling_factor=1.8, rope_parameters=rope(base=1e6))), layers=3,
         keys={**MLA_KEYS, **APART, "attention.q_lora_rank": 24, "expert_shared_count": 1, "expert_weights_scale": 1.8,
               "expert_weights_norm": True, "expert_gating_func": 2, "nextn_predict_layers": 1}, ahead=1),
    case("mistral4", "mistral4", ("Mistral4", dict(
        **MLA | dict(head_dim=12), q_lora_rank=24, n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=1.5,
        rope_parameters=mla_rope(1.0) | dict(partial_rotary_factor=1 / 3, llama_4_scaling_beta=0.5))), layers=3,
         keys={**MLA_KEYS, **APART, **mla_rope_keys(1.0), "attention.q_lora_rank": 24, "expert_shared_count": 1,
               "expert_weights_scale": 1.5, "expert_weights_norm": True, "attention.temperature_scale": 0.5}),
    case("deepseek-v3.2", "deepseek32", ("DeepseekV32", dict(
        **MLA, **INDEXER, q_lora_rank=24, n_shared_experts=1, first_k_dense_replace=1, n_group=4, topk_group=2,
        routed_scaling_factor=2.5, rope_parameters=mla_rope(1.0))), layers=3,
         keys={**MLA_KEYS, **APART, **INDEXER_KEYS, **mla_rope_keys(1.0), "attention.q_lora_rank": 24, "expert_shared_count": 1,
               "expert_weights_scale": 2.5, "expert_weights_norm": True, "expert_gating_func": 2, "expert_group_count": 4,
               "expert_group_used_count": 2, "nextn_predict_layers": 1}, ahead=1),
    # The converter of the format writes no function of the router for this architecture, nor kinds of indexers for GLM 5.
    case("glm5", "glm-dsa", ("GlmMoeDsa", dict(
        **MLA, **INDEXER, q_lora_rank=24, n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=2.5,
        rope_parameters=rope(base=1e6))), layers=3,
         keys={**MLA_KEYS, **APART, **INDEXER_KEYS, "attention.q_lora_rank": 24, "expert_shared_count": 1,
               "expert_weights_scale": 2.5, "expert_weights_norm": True, "nextn_predict_layers": 1}, ahead=1),
    case("glm5.2", "glm-dsa", ("GlmMoeDsa", dict(
        **MLA, **INDEXER, q_lora_rank=24, n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=2.5,
        indexer_types=["full", "shared", "full", "shared", "shared"], rope_parameters=rope(base=8e6))), layers=5,
         keys={**MLA_KEYS, **APART, **INDEXER_KEYS, "attention.q_lora_rank": 24, "expert_shared_count": 1,
               "expert_weights_scale": 2.5, "expert_weights_norm": True,
               "attention.indexer.types": [True, False, True, False, False]}),
    case("gemma3n", "gemma3n", ("Gemma3nText", dict(
        tie_word_embeddings=True, sliding_window=12, num_kv_shared_layers=3, hidden_size_per_layer_input=12, laurel_rank=16,
        vocab_size_per_layer_input=VOCABULARY - 20, altup_num_inputs=4, altup_active_idx=0, final_logit_softcapping=5.0,
        intermediate_size=24, activation_sparsity_pattern=[0.95] * 4 + [0.0] * 4,
        layer_types=(["sliding_attention"] * 3 + ["full_attention"]) * 2)), layers=8,
         keys={"altup.num_inputs": 4, "altup.active_idx": 0, "attention.sliding_window": 12, "attention.shared_kv_layers": 3,
               "attention.sliding_window_pattern": [True, True, True, False] * 2, "embedding_length_per_layer_input": 12,
               "activation_sparsity_scale": [1.6448536269514722] * 4 + [-math.inf] * 4, "feed_forward_length": [24] * 8,
               "final_logit_softcapping": 5.0}),
    case("gemma4", "gemma4", ("Gemma4Text", dict(
        tie_word_embeddings=True, sliding_window=12, global_head_dim=16, num_kv_shared_layers=4, use_double_wide_mlp=True,
        hidden_size_per_layer_input=12, vocab_size_per_layer_input=VOCABULARY, final_logit_softcapping=5.0, intermediate_size=24,
        layer_types=(["sliding_attention"] * 2 + ["full_attention"]) * 3)), layers=9,
         keys={"attention.key_length": 16, "attention.value_length": 16, "attention.key_length_swa": 8,
               "attention.value_length_swa": 8, "attention.sliding_window": 12, "attention.shared_kv_layers": 4,
               "attention.sliding_window_pattern": [True, True, False] * 3, "embedding_length_per_layer_input": 12,
               "feed_forward_length": [24] * 5 + [48] * 4, "final_logit_softcapping": 5.0, "rope.freq_base_swa": 10000.0,
               "rope.dimension_count_swa": 8}),
    # The larger models: experts in addition to feed-forwards, other numbers of heads, and keys that are values.
    case("gemma4-moe", "gemma4", ("Gemma4Text", dict(
        tie_word_embeddings=True, sliding_window=12, global_head_dim=16, num_global_key_value_heads=1, attention_k_eq_v=True,
        hidden_size_per_layer_input=0, final_logit_softcapping=5.0, intermediate_size=24, enable_moe_block=True, num_experts=6,
        top_k_experts=3, moe_intermediate_size=16, layer_types=["sliding_attention"] * 2 + ["full_attention"])), layers=3,
         fused=True,
         keys={"attention.key_length": 16, "attention.value_length": 16, "attention.key_length_swa": 8,
               "attention.value_length_swa": 8, "attention.sliding_window": 12, "attention.shared_kv_layers": 0,
               "attention.sliding_window_pattern": [True, True, False], "attention.head_count_kv": [2, 2, 1],
               "embedding_length_per_layer_input": 0, "final_logit_softcapping": 5.0, "rope.freq_base_swa": 10000.0,
               "rope.dimension_count_swa": 8, "expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 16}),
    case("llama4", "llama4", ("Llama4Text", dict(
        attention_chunk_size=12, floor_scale=8192, attn_scale=0.1, intermediate_size=16, intermediate_size_mlp=48,
        interleave_moe_layer_step=2, num_local_experts=4, num_experts_per_tok=1, rope_parameters=rope("llama3", 5e5, **LLAMA3))),
         layers=5,
         keys={"attention.sliding_window": 12, "interleave_moe_layer_step": 2, "expert_count": 4, "expert_used_count": 1,
               "expert_feed_forward_length": 16, "feed_forward_length": 48}),
    case("lfm2-moe", "lfm2moe", ("Lfm2Moe", dict(
        layer_types=["conv", "full_attention", "conv", "conv"], conv_L_cache=3, tie_word_embeddings=True, num_dense_layers=1,
        num_experts=6, num_experts_per_tok=3, moe_intermediate_size=16, rope_parameters=rope(base=1e6))), layers=4,
         keys={"leading_dense_block_count": 1, "expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 16,
               "expert_gating_func": 2}),
    # Files list heads and sizes per layer, 0 where a layer is something else.
    case("nemotron-h", "nemotron_h", ("NemotronH", dict(
        **NEMOTRON, layers_block_type=["linear_attention", "mlp", "linear_attention", "full_attention", "mlp"])), layers=5,
         keys={**NEMOTRON_KEYS, "attention.head_count_kv": [0, 0, 0, 2, 0], "feed_forward_length": [0, 48, 0, 0, 48]}),
    case("nemotron-h-moe", "nemotron_h_moe", ("NemotronH", dict(
        **NEMOTRON, layers_block_type=["linear_attention", "moe", "full_attention", "linear_attention", "moe"],
        n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=16, moe_shared_expert_intermediate_size=24,
        moe_latent_size=12, routed_scaling_factor=2.5)), layers=5,
         keys={**NEMOTRON_KEYS, "attention.head_count_kv": [0, 0, 2, 0, 0], "feed_forward_length": [0, 16, 0, 0, 16],
               "expert_count": 6, "expert_used_count": 3, "expert_feed_forward_length": 16, "expert_shared_count": 1,
               "expert_shared_feed_forward_length": 24, "expert_weights_norm": True, "expert_weights_scale": 2.5,
               "moe_latent_size": 12}),
    case("lfm2", "lfm2", ("Lfm2", dict(
        full_attn_idxs=[1, 4], conv_L_cache=3, block_multiple_of=8, tie_word_embeddings=True,
        rope_parameters=rope(base=1e6))), layers=5),
    case("qwen35", "qwen35", ("Qwen3_5Text", dict(**DELTA, tie_word_embeddings=True)), layers=5, one_added=True, keys=DELTA_KEYS),
    case("qwen35-moe", "qwen35moe", ("Qwen3_5MoeText", dict(
        **DELTA, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=16, shared_expert_intermediate_size=24)),
         layers=5, one_added=True,
         keys={**DELTA_KEYS, "expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 16,
               "expert_shared_feed_forward_length": 24}),
    # Files of the first converter keep the linear layers before the recurrence as one, and others the halves of experts.
    *(case(name, "qwen3next", ("Qwen3Next", dict(
        **NEXT, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=16, shared_expert_intermediate_size=24)),
           layers=5, one_added=True, fused=fused,
           keys={**NEXT_KEYS, "expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 16,
                 "expert_shared_feed_forward_length": 24})
      for name, fused in (("qwen3-next", False), ("qwen3-next-fused", True))),
    case("granite-h", "granitehybrid", ("GraniteMoeHybrid", dict(
        **GRANITE, layer_types=["mamba", "attention", "mamba", "mamba"], num_local_experts=0, num_experts_per_tok=0,
        mamba_n_groups=1, tie_word_embeddings=True)), layers=4, permute=True,
         keys={**GRANITE_KEYS, "ssm.group_count": 1, "rope.scaling.finetuned": False}),
    case("granite-h-moe", "granitehybrid", ("GraniteMoeHybrid", dict(
        **GRANITE, layer_types=["mamba", "attention", "mamba"], num_local_experts=6, num_experts_per_tok=3,
        intermediate_size=16, mamba_n_groups=2, position_embedding_type="rope", rope_parameters=rope())), layers=3, permute=True,
         keys={**GRANITE_KEYS, "ssm.group_count": 2, "rope.scaling.finetuned": True, "expert_count": 6,
               "expert_used_count": 3, "expert_shared_feed_forward_length": 48}),
    # The converter of the format turns pairs of whole heads, of which a half rotates.
    case("bamba", "granitehybrid", ("Bamba", dict(
        attn_layer_indices=[1], mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=2, bos_token_id=None)), layers=3,
         permute="whole",
         keys={"attention.head_count_kv": [0, 2, 0], "rope.dimension_count": 4, "rope.scaling.finetuned": True, **MAMBA_KEYS}),
    case("mamba2", "mamba2", ("Mamba2", dict(
        num_heads=4, head_dim=16, state_size=8, n_groups=2)), layers=3,
         keys={"attention.head_count": 0, "attention.layer_norm_rms_epsilon": 1e-5, "feed_forward_length": 0, **MAMBA_KEYS}),
    case("falcon-h1", "falcon-h1", ("FalconH1", dict(
        **FALCON, mamba_n_heads=4, mamba_d_head=16, mamba_d_ssm=64, mamba_d_state=8, mamba_d_conv=4, mamba_n_groups=2,
        mamba_rms_norm=True, mamba_norm_before_gate=False, rope_parameters=rope(base=1e11))),
         keys={"ssm.conv_kernel": 4, "ssm.state_size": 8, "ssm.time_step_rank": 4, "ssm.inner_size": 64, "ssm.group_count": 2}),
]  # fmt: skip


class Tie(Exception):
    """Two tokens are so close that rounding would decide between them."""


def compute(entry):
    """The first model of some seeds whose greedy texts do not hang on rounding."""
    for attempt in range(20):
        config, model = build(entry, attempt)
        margin = watch_indexers(model)
        try:
            texts = [expected(model, prompt) for prompt in entry.get("prompts", PROMPTS)]
        except Tie:
            continue
        if margin() > 1e-5:
            return config, model, texts
    raise Tie(entry["name"])


def build(entry, attempt):
    family, settings = entry["config"]
    config_class = getattr(transformers, f"{family}Config")
    config = config_class(**{**SIZES, "num_hidden_layers": entry["layers"], "tie_word_embeddings": False, **settings})
    torch.manual_seed(1000 * attempt + sum(map(ord, entry["name"])))
    # This release knows Mistral 4 only as a part of models that see.
    load = transformers.Mistral4ForCausalLM._from_config if family == "Mistral4" else AutoModelForCausalLM.from_config
    model = load(config, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        for name, values in [*model.named_parameters(), *model.named_buffers()]:
            if name.endswith(("inv_freq", "mup_vector", "embed_scale", "router_input_scale", "projection_scale", "layer_input_scale")):
                continue
            values.copy_(random_values(name, values, config.tie_word_embeddings).half().float())
    return config, model


def random_values(name, values, tied):
    noise = torch.randn_like(values)
    if "embed_tokens" in name or "lm_head" in name:
        # Larger tied embeddings would repeat the last token for ever.
        return noise * (0.12 if tied else 0.5)
    if ".conv.conv." in name:
        return noise * 0.6
    if "prediction_coefs" in name or "correction_coefs" in name:
        return noise * 0.2
    if "layer_scalar" in name or name.endswith("correct_output_scale") or name.endswith(("router.scale", ".per_expert_scale")):
        return noise * 0.2 + 1
    if "norm" in name:
        return noise * 0.2 + (0 if values.mean() == 0 else 1)
    if "sinks" in name:
        return noise * 2
    if "e_score_correction_bias" in name or name.endswith(".expert_bias"):
        return noise * 0.2
    if name.endswith("bias"):
        return noise * 0.3
    if values.ndim == 3 and "gate_up_proj" in name and values.shape[1] == HIDDEN:
        # Large enough for the clamps of gpt-oss.
        return noise * 1.5
    return noise * 1.4 / math.sqrt(values.shape[-1])


def expected(model, prompt):
    """Logits after the prompt and after the last of the greedy tokens."""
    ids = encode(prompt)
    with torch.no_grad():
        first = last = model(torch.tensor([ids]), use_cache=False).logits[0, -1]
        tokens = []
        for _ in range(STEPS):
            best, second = torch.topk(last, 2).values.tolist()
            if best - second < 2e-3:
                raise Tie
            tokens.append(int(last.argmax()))
            last = model(torch.tensor([ids + tokens]), use_cache=False).logits[0, -1]
    text = "".join(TOKENS[token].replace("\u0120", " ") for token in tokens if token != SIZES["eos_token_id"])
    rounded = lambda values: [round(value, 6) for value in values.tolist()]
    return {"prompt": prompt, "promptIds": ids, "text": text, "tokens": tokens, "first": rounded(first), "last": rounded(last)}


def encode(text):
    """The tokenizer's one merge joins t and h."""
    ids = []
    for character in text.replace(" ", "\u0120"):
        if character == "h" and ids and TOKENS[ids[-1]] == "t":
            ids[-1] = TOKENS.index("th")
        else:
            ids.append(TOKENS.index(character))
    return ids


def interleave(values, heads, rotated):
    """From halves to pairs side by side, in the leading `rotated` rows of each head."""
    split = values.reshape(heads, values.shape[0] // heads, -1)
    pairs = split[:, :rotated].reshape(heads, 2, rotated // 2, -1).swapaxes(1, 2).reshape(heads, rotated, -1)
    return np.concatenate([pairs, split[:, rotated:]], axis=1).reshape(values.shape)


def write(path, entry, config, model):
    arch = entry["arch"]
    writer = gguf.GGUFWriter(path, arch)
    attends = arch != "mamba2"
    head = entry["keys"].get("attention.key_length")
    head = head or getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_context_length(config.max_position_embeddings if attends else 2**20)
    writer.add_embedding_length(config.hidden_size)
    # Layers that guess further tokens count too, and have tensors that are not computed.
    writer.add_block_count(config.num_hidden_layers + entry.get("ahead", 0))
    if "feed_forward_length" not in entry["keys"]:
        writer.add_feed_forward_length(feed_forward_length(config))
    if attends:
        writer.add_head_count(config.num_attention_heads)
    for key, add, value in (
        ("attention.head_count_kv", writer.add_head_count_kv, lambda: key_value_heads(config)),
        ("attention.key_length", writer.add_key_length, lambda: head),
        ("attention.value_length", writer.add_value_length, lambda: head),
    ):
        if attends and key not in entry["keys"]:
            add(value())
    if hasattr(config, "conv_L_cache"):
        writer.add_shortconv_l_cache(config.conv_L_cache)
    if "attention.layer_norm_rms_epsilon" in entry["keys"]:
        pass
    elif hasattr(config, "rms_norm_eps") or hasattr(config, "norm_eps"):
        writer.add_layer_norm_rms_eps(getattr(config, "rms_norm_eps", None) or config.norm_eps)
    else:
        writer.add_layer_norm_eps(config.layer_norm_eps)
    parameters = getattr(config, "rope_parameters", None) or rope()
    whole = parameters.get("full_attention", parameters)
    if attends and "rope.freq_base" not in entry["keys"]:
        writer.add_rope_freq_base(whole["rope_theta"])
    is_whole = whole["rope_type"] == "proportional"
    rotated = head if is_whole else int(head * (whole.get("partial_rotary_factor") or 1))
    if attends and "rope.dimension_count" not in entry["keys"]:
        writer.add_rope_dimension_count(rotated)
    adders = {
        str: writer.add_string,
        float: writer.add_float32,
        bool: writer.add_bool,
        int: writer.add_uint32,
        list: writer.add_array,
    }
    for key, value in entry["keys"].items():
        adders[type(value)](f"{arch}.{key}", value)
    write_tokenizer(writer)
    write_factors(writer, whole, rotated)
    # The package has not the name of DeepSeek V3.2 yet, which has the tensors of GLM 5.
    known = {name: key for key, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(known.get(arch, gguf.MODEL_ARCH.GLM_DSA), config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        for target, values in stored(entry, config, name, tensor.numpy(), names, rotated):
            # The weights are exact in half precision unless they were multiplied; norms, biases and decays are float32.
            is_half = values.ndim > 1 and not target.endswith("ssm_a") and arch != "falcon-h1"
            writer.add_tensor(target, values.astype(np.float16) if is_half else values)
    for target, part in (("altup_proj", "altup_projections"), ("altup_unembd_proj", "altup_unembed_projections")):
        matrices = [tensor.numpy() for name, tensor in model.state_dict().items() if f".{part}." in name]
        if matrices:
            writer.add_tensor(f"{target}.weight", np.stack(matrices).astype(np.float16))
    for layer in range(config.num_hidden_layers, config.num_hidden_layers + entry.get("ahead", 0)):
        writer.add_tensor(f"blk.{layer}.nextn.eh_proj.weight", np.zeros((HIDDEN, 2 * HIDDEN), dtype=np.float16))
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", np.ones(HIDDEN, dtype=np.float32))
    # Published files have keys and values of layers that use those of another too.
    first = config.num_hidden_layers - entry["keys"].get("attention.shared_kv_layers", 0)
    for layer in range(first, config.num_hidden_layers):
        writer.add_tensor(f"blk.{layer}.attn_k_norm.weight", np.ones(HEAD, dtype=np.float32))
        for part in ("k", "v"):
            writer.add_tensor(f"blk.{layer}.attn_{part}.weight", np.ones((KEY_VALUE_HEADS * HEAD, HIDDEN), dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def key_value_heads(config):
    """One number, or one per layer with 0 for layers that do not attend."""
    kinds = getattr(config, "layer_types", None) or []
    without = {"conv"} if not hasattr(config, "mamba_n_heads") else {"mamba", "linear_attention"}
    if without.isdisjoint(kinds):
        return config.num_key_value_heads
    return [0 if kind in without else config.num_key_value_heads for kind in kinds]


def feed_forward_length(config):
    if not getattr(config, "block_auto_adjust_ff_dim", False):
        return config.intermediate_size
    scaled = int(config.block_ffn_dim_multiplier * int(2 * config.intermediate_size / 3))
    return config.block_multiple_of * math.ceil(scaled / config.block_multiple_of)


def stored(entry, config, name, values, names, rotated):
    """The tensors of a GGUF file for one of transformers."""
    if "e_score_correction_bias" in name or name.endswith(".expert_bias"):
        yield f"blk.{name.split('.')[2]}.exp_probs_b.bias", np.ascontiguousarray(values.squeeze())
        return
    if arch_has_mixers(entry):
        yield from stored_mixer(config, name, values)
        return
    if name.endswith((".router.scale", ".per_expert_scale")):
        part = "ffn_gate_inp" if name.endswith(".router.scale") else "ffn_down_exps"
        yield f"blk.{name.split('.')[2]}.{part}.scale", values
        return
    if ".experts." in name:
        yield from stored_experts(entry["arch"], name, values, entry.get("fused", False))
        return
    if entry["arch"] == "falcon-h1":
        values = values * falcon_factor(config, name, values.shape)
    if entry["arch"] == "falcon-h1" and ".mamba." in name:
        yield from stored_hybrid(config, name, values)
        return
    if entry["config"][0] == "Bamba" and (".mamba." in name or "final_layernorm" in name or ".feed_forward." in name):
        yield from stored_bamba(config, name, values)
        return
    if entry["arch"] == "granitehybrid" and any(part in name for part in (".mamba.", ".shared_mlp.", ".block_sparse_moe.")):
        yield from stored_hybrid(config, name, values)
        return
    if entry["arch"] == "qwen3next" and ".linear_attn." in name:
        yield from stored_next(entry, config, name, values)
        return
    if ".indexer." in name:
        block, (part, kind) = f"blk.{name.split('.')[2]}", name.split(".")[-2:]
        part = {"wq_b": "attn_q_b", "wk": "attn_k", "weights_proj": "proj"}.get(part, part)
        yield f"{block}.indexer.{part}.{kind}", values
        return
    if ".kv_b_proj." in name and "attention.key_length_mla" in entry["keys"]:
        heads, block = config.num_attention_heads, f"blk.{name.split('.')[2]}"
        keys, head_values = np.split(values.reshape(heads, -1, config.kv_lora_rank), [config.qk_nope_head_dim], axis=1)
        yield f"{block}.attn_k_b.weight", np.ascontiguousarray(keys.swapaxes(1, 2))
        yield f"{block}.attn_v_b.weight", np.ascontiguousarray(head_values)
        return
    # Streams but the first have a projection each, which are one tensor here.
    if ".altup_projections." in name or ".altup_unembed_projections." in name:
        return
    name = f"{name}.weight" if name.endswith((".sinks", ".layer_scalar", ".correct_output_scale")) else name
    if name.endswith((".A_log", ".dt_bias")):
        block = f"blk.{name.split('.')[2]}"
        target = f"{block}.ssm_a" if name.endswith(".A_log") else f"{block}.ssm_dt.bias"
        yield target, np.ascontiguousarray(stored_delta(config, name, values))
        return
    target = names.get_name(name, try_suffixes=(".weight", ".bias"))
    assert target is not None, f"{entry['arch']} has no name for {name}"
    if entry["permute"] and any(part in name for part in ("q_proj", "k_proj")):
        heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
        values = interleave(values, heads, values.shape[0] // heads if entry["permute"] == "whole" else rotated)
    if entry["one_added"] and "norm" in name and "linear_attn" not in name:
        values = values + 1
    if ".linear_attn." in name:
        values = stored_delta(config, name, values)
    if "shared_expert_gate" in name:
        values = values.squeeze()
    if ".conv.conv." in name:
        values = values.squeeze(1)
    yield target, np.ascontiguousarray(values)


def stored_delta(config, name, values):
    """Value heads that share a key head follow each other, and are side by side over all key heads in GGUF files."""
    heads, keys = config.linear_num_value_heads, config.linear_num_key_heads
    size, width = config.linear_value_head_dim, 2 * keys * config.linear_key_head_dim
    if name.endswith(".A_log"):
        values = -np.exp(values)
    if ".conv1d." in name:
        values = values.squeeze(1)
    if ".linear_attn.norm." in name:
        return values
    tile = lambda part: part.reshape(keys, heads // keys, -1, *part.shape[1:]).swapaxes(0, 1).reshape(part.shape)
    if ".out_proj." in name:
        return tile(values.T).T
    first = width if values.shape[0] == width + heads * size else 0
    return np.concatenate([values[:first], tile(values[first:])])


def stored_next(entry, config, name, values):
    """Value heads keep their order, and queries, keys, values and gates of a key head are one in the first files."""
    part = name.split(".linear_attn.")[1]
    block = f"blk.{name.split('.')[2]}"
    names = {
        "A_log": "ssm_a", "dt_bias": "ssm_dt.bias", "conv1d.weight": "ssm_conv1d.weight", "norm.weight": "ssm_norm.weight",
        "out_proj.weight": "ssm_out.weight", "in_proj_ba.weight": "ssm_ba.weight", "in_proj_qkvz.weight": "ssm_in.weight",
    }  # fmt: skip
    values = -np.exp(values) if part == "A_log" else values.squeeze(1) if part == "conv1d.weight" else values
    if part != "in_proj_qkvz.weight" or entry["fused"]:
        yield f"{block}.{names[part]}", np.ascontiguousarray(values)
        return
    keys, size = config.linear_num_key_heads, config.linear_key_head_dim
    width = config.linear_num_value_heads // keys * config.linear_value_head_dim
    heads = values.reshape(keys, 2 * (size + width), -1)
    cut = lambda first, rows: heads[:, first : first + rows].reshape(keys * rows, -1)
    yield f"{block}.attn_qkv.weight", np.concatenate([cut(0, size), cut(size, size), cut(2 * size, width)])
    yield f"{block}.attn_gate.weight", np.ascontiguousarray(cut(2 * size + width, width))


def falcon_factor(config, name, shape):
    """The converter of the format multiplies the weights by the factors of their outputs or inputs."""
    part = name.split(".", 3)[-1]
    attention, (gate, down) = config.attention_in_multiplier, config.mlp_multipliers
    shared = config.mamba_n_groups * config.mamba_d_state
    parts = [config.mamba_d_ssm, config.mamba_d_ssm, shared, shared, config.mamba_n_heads]
    factors = {
        "self_attn.q_proj.weight": attention, "self_attn.k_proj.weight": attention * config.key_multiplier,
        "self_attn.v_proj.weight": attention, "self_attn.o_proj.weight": config.attention_out_multiplier,
        "feed_forward.gate_proj.weight": gate, "feed_forward.down_proj.weight": down,
        "mamba.in_proj.weight": config.ssm_in_multiplier * np.repeat(config.ssm_multipliers, parts)[:, None],
        "mamba.out_proj.weight": config.ssm_out_multiplier,
        "lm_head.weight": config.lm_head_multiplier, "model.embed_tokens.weight": config.embedding_multiplier,
    }  # fmt: skip
    return np.float32(factors.get(name, factors.get(part, 1)))


def arch_has_mixers(entry):
    return entry["arch"].startswith(("nemotron_h", "mamba2"))


def stored_mixer(config, name, values):
    """Layers of one half, whose norm is that of attention whatever they are."""
    outer = {"embeddings": "token_embd", "norm_f": "output_norm", "lm_head": "output"}
    if name.split(".")[-2] in outer:
        yield f"{outer[name.split('.')[-2]]}.weight", values
        return
    block, part = f"blk.{name.split('.')[2]}", name.split(".", 3)[3].removeprefix("mixer.")
    names = {
        "norm.weight": "attn_norm.weight", "q_proj.weight": "attn_q.weight", "k_proj.weight": "attn_k.weight",
        "v_proj.weight": "attn_v.weight", "o_proj.weight": "attn_output.weight", "up_proj.weight": "ffn_up.weight",
        "down_proj.weight": "ffn_down.weight", "gate.weight": "ffn_gate_inp.weight", "experts.up_proj": "ffn_up_exps.weight",
        "experts.down_proj": "ffn_down_exps.weight", "shared_experts.up_proj.weight": "ffn_up_shexp.weight",
        "shared_experts.down_proj.weight": "ffn_down_shexp.weight", "fc1_latent_proj.weight": "ffn_latent_down.weight",
        "fc2_latent_proj.weight": "ffn_latent_up.weight", "in_proj.weight": "ssm_in.weight", "out_proj.weight": "ssm_out.weight",
        "conv1d.bias": "ssm_conv1d.bias", "conv1d.weight": "ssm_conv1d.weight", "dt_bias": "ssm_dt.bias", "A_log": "ssm_a",
        "D": "ssm_d",
    }  # fmt: skip
    if name.endswith("mixer.norm.weight"):
        yield f"{block}.ssm_norm.weight", values.reshape(config.n_groups, -1)
        return
    changed = {"conv1d.weight": lambda: values.squeeze(1), "A_log": lambda: -np.exp(values)[:, None], "D": lambda: values[:, None]}
    yield f"{block}.{names[part]}", np.ascontiguousarray(changed.get(part, lambda: values)())


def stored_bamba(config, name, values):
    if "final_layernorm" in name:
        yield "output_norm.weight", values
    elif ".feed_forward." in name:
        part = name.split(".feed_forward.")[1].removesuffix("_proj.weight")
        yield f"blk.{name.split('.')[2]}.ffn_{part}.weight", values
    else:
        yield from stored_hybrid(config, name, values)


def stored_hybrid(config, name, values):
    """Mamba layers, experts and the feed-forward that all tokens share, whose gate and value transformers stores as one."""
    block = f"blk.{name.split('.')[2]}"
    part = name.split(".", 3)[3]
    shared = "_shexp" if getattr(config, "num_local_experts", 0) else ""
    groups = config.mamba_n_groups
    names = {
        "mamba.A_log": ("ssm_a", lambda: -np.exp(values)[:, None]), "mamba.D": ("ssm_d", lambda: values[:, None]),
        "mamba.dt_bias": ("ssm_dt.bias", lambda: values), "mamba.conv1d.bias": ("ssm_conv1d.bias", lambda: values),
        "mamba.conv1d.weight": ("ssm_conv1d.weight", lambda: values.squeeze(1)),
        "mamba.norm.weight": ("ssm_norm.weight", lambda: values.reshape(groups, -1)),
        "mamba.in_proj.weight": ("ssm_in.weight", lambda: values), "mamba.out_proj.weight": ("ssm_out.weight", lambda: values),
        "shared_mlp.output_linear.weight": (f"ffn_down{shared}.weight", lambda: values),
        "block_sparse_moe.router.weight": ("ffn_gate_inp.weight", lambda: values),
    }  # fmt: skip
    if part in names:
        target, stored_as = names[part]
        yield f"{block}.{target}", np.ascontiguousarray(stored_as())
    elif part == "shared_mlp.input_linear.weight":
        for target, half in zip(("gate", "up"), np.split(values, 2)):
            yield f"{block}.ffn_{target}{shared}.weight", np.ascontiguousarray(half)
    else:
        yield from stored_experts("granitehybrid", name, values)


def stored_experts(arch, name, values, fused=False):
    """Experts, whose gates and values transformers stores as one: side by side in gpt-oss, otherwise one after the other."""
    block = f"blk.{name.split('.')[2]}"
    kind = "bias" if name.endswith("_bias") else "weight"
    if arch in ("gpt-oss", "llama4") and kind == "weight":
        values = values.swapaxes(1, 2)
    if "down_proj" in name:
        yield f"{block}.ffn_down_exps.{kind}", np.ascontiguousarray(values)
        return
    if fused:
        yield f"{block}.ffn_gate_up_exps.{kind}", np.ascontiguousarray(values)
        return
    half = values.shape[1] // 2
    gate, up = (values[:, ::2], values[:, 1::2]) if arch == "gpt-oss" else (values[:, :half], values[:, half:])
    yield f"{block}.ffn_gate_exps.{kind}", np.ascontiguousarray(gate)
    yield f"{block}.ffn_up_exps.{kind}", np.ascontiguousarray(up)


def write_tokenizer(writer):
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(TOKENS)
    writer.add_token_types([1] * (VOCABULARY - 1) + [3])
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(VOCABULARY - 1)
    writer.add_add_bos_token(False)


def write_factors(writer, parameters, rotated):
    """Frequency divisors of Llama 3 and LongRoPE, which are tensors in GGUF."""
    if parameters["rope_type"] == "longrope":
        for kind in ("long", "short"):
            writer.add_tensor(f"rope_factors_{kind}.weight", np.array(parameters[f"{kind}_factor"], dtype=np.float32))
    if parameters["rope_type"] == "proportional":
        share = int(rotated * parameters["partial_rotary_factor"] / 2)
        factors = [1.0] * share + [1e30] * (rotated // 2 - share)
        writer.add_tensor("rope_freqs.weight", np.array(factors, dtype=np.float32))
    if parameters["rope_type"] != "llama3":
        return
    factor, low, high = (parameters[key] for key in ("factor", "low_freq_factor", "high_freq_factor"))
    context = parameters["original_max_position_embeddings"]
    factors = []
    for pair in range(rotated // 2):
        wave = 2 * math.pi * parameters["rope_theta"] ** (2 * pair / rotated)
        smooth = min(max((context / wave - low) / (high - low), 0), 1)
        factors.append(1 / ((1 - smooth) / factor + smooth))
    writer.add_tensor("rope_freqs.weight", np.array(factors, dtype=np.float32))


def main():
    target = sys.argv[1]
    only = sys.argv[2:]
    if not only:
        shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target, exist_ok=True)
    known = os.path.join(target, "expected.json")
    results = json.load(open(known)) if os.path.exists(known) else {}
    for entry in CASES:
        if only and entry["name"] not in only:
            continue
        config, model, texts = compute(entry)
        write(os.path.join(target, f"{entry['name']}.gguf"), entry, config, model)
        shortened = {"contextLength": entry["context"]} if "context" in entry else {}
        results[entry["name"]] = {"file": entry["name"], **shortened, "texts": texts}
        print(entry["name"], [text["text"] for text in texts])
    with open(known, "w") as file:
        lines = [f' "{name}": {json.dumps(result, separators=(",", ":"))}' for name, result in results.items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
