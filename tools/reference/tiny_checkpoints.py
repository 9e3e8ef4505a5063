"""Writes tiny decoders in the layout of the model hubs, with results of the reference implementation.

    python -m venv /tmp/reference && /tmp/reference/bin/pip install torch==2.15.0 transformers==5.23.0 numpy
    /tmp/reference/bin/python tools/reference/tiny_checkpoints.py [names…]

Each folder of `libs/model-store/src/convert/safetensors/__fixtures__` holds a model with random weights as
`save_pretrained` writes it, and `expected.json`: prompts with the logits of some greedy steps in float32, and the text.
All share the files of `tokenizer`. The 4-bit models are packed here by the published layouts of AWQ (GEMM) and GPTQ;
their expected results come from the weights that this script unpacks again.
"""

import base64
import json
import math
import pathlib
import re
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from indexer_margin import watch_indexers

root = pathlib.Path(__file__).resolve().parents[2]
folder = root / "libs/model-store/src/convert/safetensors/__fixtures__"

text = """The river was happy, and the boat was small. A lighthouse keeper counted 12 ships before the storm.
"Hello!" said the captain. How are you today? Fine, thank you; the wind is good and the sea is calm.
def add(a, b): return a + b  # naïve café, déjà vu, 水が好きです, 🌊 waves
"""
template = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
prompts = ["The river was happy", '"Hello!" said 水 to 12 ships 🌊, and the boat']
vocabulary = 300


def make_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator([text], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|begin|>", eos_token="<|end|>", chat_template=template
    )


common = dict(
    vocab_size=vocabulary,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    bos_token_id=0,
    eos_token_id=1,
    pad_token_id=None,
    attn_implementation="eager",
)
llama3 = dict(
    rope_type="llama3",
    factor=4.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=64,
    rope_theta=10000.0,
)
half, brain, single = torch.float16, torch.bfloat16, torch.float32


def rope(kind="default", base=10000.0, **more):
    return dict(rope_type=kind, rope_theta=base, **more)


yarn = rope("yarn", factor=4.0, original_max_position_embeddings=32, beta_fast=16.0, attention_factor=1.2)
long = rope("longrope", short_factor=[1.0, 1.1, 1.3, 1.6], long_factor=[1.5, 2.0, 4.0, 8.0])

gpt_oss = dict(
    hidden_size=32,
    intermediate_size=32,
    num_hidden_layers=2,
    head_dim=8,
    num_local_experts=4,
    num_experts_per_tok=2,
    sliding_window=6,
    layer_types=["sliding_attention", "full_attention"],
    rope_parameters=rope(
        "yarn", 1000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=32
    ),
)

# Name, class, what differs from `common`, type of the weights, and the largest shard.
decoder_models = {
    "llama": ("Llama", dict(rope_parameters=llama3), brain, "40KB"),
    "llama-bias": ("Llama", dict(attention_bias=True, rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=10000.0)), half, "1GB"),
    "mistral": ("Mistral", dict(head_dim=16, sliding_window=None), half, "1GB"),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True), brain, "1GB"),
    "qwen3": ("Qwen3", dict(head_dim=16, tie_word_embeddings=True), single, "1GB"),
    "llama-yarn": ("Llama", dict(rope_parameters=yarn), brain, "1GB"),
    "mistral-window": ("Mistral", dict(sliding_window=6), brain, "1GB"),
    "mistral3": ("Mistral3", dict(tie_word_embeddings=False), brain, "1GB"),
    "mixtral": ("Mixtral", dict(num_local_experts=4, num_experts_per_tok=2, intermediate_size=16), brain, "1GB"),
    "qwen3-moe": (
        "Qwen3Moe",
        dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=16, head_dim=8, norm_topk_prob=True),
        brain,
        "1GB",
    ),
    "qwen2-moe": (
        "Qwen2Moe",
        dict(
            num_experts=6,
            num_experts_per_tok=3,
            moe_intermediate_size=16,
            shared_expert_intermediate_size=24,
            decoder_sparse_step=1,
            mlp_only_layers=[],
        ),
        brain,
        "1GB",
    ),
    # All prompts are longer than the original context.
    "llama-dynamic": (
        "Llama",
        dict(max_position_embeddings=6, rope_parameters=rope("dynamic", factor=16.0)),
        brain,
        "1GB",
    ),
    "gpt-oss-float": ("GptOss", gpt_oss, brain, "1GB"),
    "phi3": ("Phi3", dict(rope_parameters=long, original_max_position_embeddings=8), brain, "1GB"),
    "phi4-mini": (
        "Phi3",
        dict(rope_parameters=rope(partial_rotary_factor=0.5), tie_word_embeddings=True, sliding_window=7),
        brain,
        "1GB",
    ),
    "smollm3": ("SmolLM3", dict(num_hidden_layers=4, no_rope_layers=[1, 0, 1, 1]), brain, "1GB"),
    "olmo2": ("Olmo2", dict(rope_parameters=rope(base=5e5)), brain, "1GB"),
    "granite": (
        "Granite",
        dict(
            embedding_multiplier=3.0,
            residual_multiplier=0.6,
            logits_scaling=0.7,
            attention_multiplier=0.25,
            tie_word_embeddings=True,
        ),
        brain,
        "1GB",
    ),
    "gemma": ("Gemma", dict(head_dim=12, num_key_value_heads=1), brain, "1GB"),
    "gemma2": (
        "Gemma2",
        dict(
            head_dim=8,
            sliding_window=6,
            query_pre_attn_scalar=12,
            attn_logit_softcapping=2.0,
            final_logit_softcapping=5.0,
        ),
        brain,
        "1GB",
    ),
    "gemma3": (
        "Gemma3",
        dict(
            head_dim=8,
            sliding_window=6,
            query_pre_attn_scalar=12,
            num_hidden_layers=3,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            rope_parameters=dict(sliding_attention=rope(), full_attention=rope("linear", 1e6, factor=8.0)),
        ),
        brain,
        "1GB",
    ),
    "gemma3-sees": ("Gemma3Sees", dict(head_dim=8, sliding_window=6, query_pre_attn_scalar=12), brain, "1GB"),
    "olmo3": (
        "Olmo3",
        dict(
            num_hidden_layers=4,
            sliding_window=6,
            rope_parameters=dict(sliding_attention=rope(), full_attention=yarn),
        ),
        brain,
        "1GB",
    ),
    "glm4": (
        "Glm4",
        dict(head_dim=8, rope_parameters=rope(partial_rotary_factor=0.5), attention_bias=True),
        brain,
        "1GB",
    ),
    "command-r": ("Cohere", dict(use_qk_norm=True, logit_scale=0.5), brain, "1GB"),
    "cohere2": ("Cohere2", dict(head_dim=8, logit_scale=0.5, sliding_window=6, num_hidden_layers=4), brain, "1GB"),
    "lfm2": (
        "Lfm2",
        dict(num_hidden_layers=5, full_attn_idxs=[1, 4], block_multiple_of=8, rope_parameters=rope(base=1e6)),
        brain,
        "1GB",
    ),
    "lfm2-bias": (
        "Lfm2",
        dict(
            num_hidden_layers=3,
            layer_types=["conv", "full_attention", "conv"],
            conv_bias=True,
            conv_L_cache=4,
            block_auto_adjust_ff_dim=False,
            tie_word_embeddings=False,
        ),
        single,
        "1GB",
    ),
}


def delta(**more):
    return dict(
        num_hidden_layers=4,
        head_dim=16,
        linear_conv_kernel_dim=4,
        linear_key_head_dim=8,
        linear_value_head_dim=12,
        linear_num_key_heads=2,
        linear_num_value_heads=6,
        rope_parameters=rope(
            base=1e6, partial_rotary_factor=0.25, mrope_section=[1, 1, 0], mrope_interleaved=True
        ),
        **more,
    )


delta_experts = dict(
    num_experts=6, num_experts_per_tok=3, moe_intermediate_size=16, shared_expert_intermediate_size=24
)
decoder_models |= {
    "qwen35": (
        "Qwen3_5",
        delta(layer_types=["linear_attention", "linear_attention", "full_attention", "linear_attention"]),
        single,
        "1GB",
    ),
    "qwen35-moe": ("Qwen3_5Moe", delta(**delta_experts), single, "1GB"),
    "qwen35-moe-sees": ("Qwen3_5MoeSees", delta(**delta_experts), brain, "1GB"),
    "qwen35-sees": ("Qwen3_5Sees", delta(tie_word_embeddings=True), brain, "1GB"),
}


def published_lfm2(config: dict) -> dict:
    """The members that the published `config.json` of LFM2-1.2B has, instead of those that the library writes today."""
    renamed = dict(
        block_dim=config["hidden_size"],
        block_ff_dim=config.pop("intermediate_size"),
        block_norm_eps=config["norm_eps"],
        conv_dim=config["hidden_size"],
        conv_dim_out=config["hidden_size"],
        num_heads=config["num_attention_heads"],
        rope_theta=config["rope_parameters"]["rope_theta"],
        theta=config.pop("rope_parameters")["rope_theta"],
        tie_embedding=config.pop("tie_word_embeddings"),
        torch_dtype=config.pop("dtype"),
        block_mlp_init_scale=1.0,
        block_out_init_scale=1.0,
        block_use_swiglu=True,
        block_use_xavier_init=True,
        conv_use_xavier_init=True,
        use_pos_enc=True,
    )
    del config["layer_types"]
    return config | renamed


def published_qwen35(config: dict) -> dict:
    """The members that the published `config.json` of Qwen3.5 has beside those that the library writes today."""
    config["text_config"] |= dict(
        attn_output_gate=True,
        full_attention_interval=4,
        mamba_ssm_dtype="float32",
        mlp_only_layers=[],
        mtp_num_hidden_layers=1,
        mtp_use_dedicated_embeddings=False,
        output_gate_type="swish",
        partial_rotary_factor=0.25,
    )
    return config


def with_guesses(tensors: dict, dtype: torch.dtype) -> dict:
    """Published files have layers that guess later tokens."""
    return tensors | {"mtp.fc.weight": torch.zeros(32, 64, dtype=dtype)}


def with_stacked_experts(tensors: dict, _: torch.dtype) -> dict:
    """Published files have all experts of a layer in two tensors, as the library has them in memory."""
    expert = re.compile(r"(.*\.mlp\.experts)\.(\d+)\.(gate_proj|up_proj|down_proj)\.weight")
    lists = {found[1] for found in map(expert.fullmatch, tensors) if found}
    stacked = {name: values for name, values in tensors.items() if not expert.fullmatch(name)}
    for prefix in sorted(lists):
        count = sum(name.startswith(f"{prefix}.") and name.endswith(".up_proj.weight") for name in tensors)
        part = lambda kind: torch.stack([tensors[f"{prefix}.{index}.{kind}.weight"] for index in range(count)])
        stacked[f"{prefix}.gate_up_proj"] = torch.cat([part("gate_proj"), part("up_proj")], dim=1)
        stacked[f"{prefix}.down_proj"] = part("down_proj")
    return stacked


def with_layer_ahead(tensors: dict, dtype: torch.dtype) -> dict:
    """Published files have tensors of the layer that guesses a further token."""
    ahead = f"model.layers.{published['glm4-moe']['num_hidden_layers']}"
    queries = next(name for name in ("q_proj", "q_b_proj") if f"model.layers.0.self_attn.{name}.weight" in tensors)
    return tensors | {
        f"{ahead}.eh_proj.weight": torch.zeros(32, 64, dtype=dtype),
        f"{ahead}.self_attn.{queries}.weight": tensors[f"model.layers.0.self_attn.{queries}.weight"].clone(),
    }


def with_senses(tensors: dict, dtype: torch.dtype) -> dict:
    """Published files have the text model inside another, with parts that see and hear, and all layers have keys and values."""
    inner = {name.replace("model.", "model.language_model.", 1): values for name, values in tensors.items()}
    layers = "model.language_model.layers"
    for layer in range(5, 8):
        for part in ("k_proj", "v_proj", "k_norm"):
            name = f"self_attn.{part}.weight"
            inner[f"{layers}.{layer}.{name}"] = inner[f"{layers}.0.{name}"].clone()
    senses = ("vision_tower.timm_model.conv_stem.conv", "audio_tower.conformer.0.norm", "embed_vision.embedding", "embed_audio.embedding")
    return inner | {f"model.{name}.weight": torch.zeros(4, 4, dtype=dtype) for name in senses}


added_tensors = {
    "gemma3n-sees": with_senses,
    "qwen35-sees": with_guesses,
    "qwen3-next": with_guesses,
    "qwen35-moe-sees": with_stacked_experts,
    "glm4-moe": with_layer_ahead,
    "deepseek-v3": with_layer_ahead,
    "deepseek-v3.2": with_layer_ahead,
    "glm5": with_layer_ahead,
    "glm4-moe-lite": with_layer_ahead,
}

# Models whose `config.json` gets members of a published one.
published_members = {"lfm2": published_lfm2, "qwen35-sees": published_qwen35}

# Models whose `config.json` has the members that the authors published, and small sizes.
# The reference reads that file too.
sizes = dict(
    vocab_size=vocabulary, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=256, bos_token_id=0, eos_token_id=1, pad_token_id=0,
    initializer_range=0.02, use_cache=True, torch_dtype="bfloat16", transformers_version="4.57.0", hidden_act="silu",
)  # fmt: skip
ntk = dict(alpha=50.0, beta_fast=32, beta_slow=1, factor=1.0, mscale=1.0, mscale_all_dim=0.0, type="dynamic")
growing = dict(
    beta_fast=32.0, beta_slow=1.0, factor=16.0, llama_4_scaling_beta=0.5, mscale=1.0, mscale_all_dim=1.0,
    original_max_position_embeddings=16, rope_theta=1000000.0, rope_type="yarn", type="yarn",
)  # fmt: skip
ministral = dict(
    sizes, head_dim=8, attention_dropout=0.0, model_type="ministral3", rms_norm_eps=1e-05, rope_parameters=growing,
    sliding_window=None,
)  # fmt: skip
eyes_config = dict(
    attention_dropout=0.0, head_dim=8, hidden_act="silu", hidden_size=16, image_size=28, initializer_range=0.02,
    intermediate_size=16, model_type="pixtral", num_attention_heads=2, num_channels=3, num_hidden_layers=1, patch_size=14,
    rope_parameters=dict(rope_theta=10000.0, rope_type="default"),
)  # fmt: skip
mamba = dict(
    mamba_chunk_size=16, mamba_conv_bias=True, mamba_d_conv=4, mamba_d_head=32, mamba_d_state=16, mamba_expand=2,
    mamba_n_groups=1, mamba_n_heads=2, mamba_proj_bias=False,
)  # fmt: skip
granite = dict(
    sizes, architectures=["GraniteMoeHybridForCausalLM"], model_type="granitemoehybrid", attention_bias=False,
    attention_dropout=0.0, attention_multiplier=0.25, embedding_multiplier=3.0, init_method="mup", logits_scaling=0.7, **mamba,
    normalization_function="rmsnorm", output_router_logits=False, residual_multiplier=0.6, rms_norm_eps=1e-05,
    rope_scaling=None, rope_theta=10000, router_aux_loss_coef=0.01, shared_intermediate_size=48,
)  # fmt: skip
mamba2 = dict(
    architectures=["Mamba2ForCausalLM"], bos_token_id=0, chunk_size=16, conv_kernel=4, eos_token_id=1, expand=2, head_dim=16,
    hidden_act="silu", hidden_size=32, initializer_range=0.1, layer_norm_epsilon=1e-05, model_type="mamba2", n_groups=2,
    norm_before_gate=True, num_heads=4, num_hidden_layers=3, pad_token_id=0, rescale_prenorm_residual=False,
    residual_in_fp32=True, rms_norm=True, state_size=8, tie_word_embeddings=False, time_step_floor=0.0001,
    time_step_init_scheme="random", time_step_limit=[0.0, math.inf], time_step_max=0.1, time_step_min=0.001, time_step_rank=2,
    torch_dtype="bfloat16", transformers_version="4.44.0.dev0", use_bias=False, use_cache=True, use_conv_bias=True,
    vocab_size=vocabulary,
)  # fmt: skip
bamba = dict(
    sizes, architectures=["BambaForCausalLM"], model_type="bamba", attention_bias=False, attention_dropout=0.0,
    attn_layer_indices=[1, 3], attn_rotary_emb=4, **mamba, mlp_bias=False, num_hidden_layers=4, num_logits_to_keep=1,
    rms_norm_eps=1e-05, rope_scaling=None, rope_theta=10000.0, tie_word_embeddings=False,
)  # fmt: skip
falcon = dict(
    sizes, architectures=["FalconH1ForCausalLM"], model_type="falcon_h1", **{**mamba, "mamba_n_heads": 3}, attention_bias=False,
    attention_dropout=0.0, attention_in_multiplier=1.5, attention_out_multiplier=0.9375, attn_layer_indices=None,
    embedding_multiplier=2.656854249492381, head_dim=16, key_multiplier=0.390625, lm_head_multiplier=0.5390625, mamba_d_ssm=96,
    mamba_norm_before_gate=False, mamba_rms_norm=False, mamba_use_mlp=True, mlp_bias=False, mlp_expansion_factor=8,
    mlp_multipliers=[0.8838834764831844, 0.5859375], num_logits_to_keep=1, projectors_bias=False, rms_norm_eps=1e-05,
    rope_scaling=None, rope_theta=100000000000.0, ssm_in_multiplier=1.25,
    ssm_multipliers=[0.3535533905932738, 0.25, 0.7535533905932738, 0.5, 0.4535533905932738],
    ssm_out_multiplier=0.83570226039551587, time_step_floor=0.0001, time_step_max=0.1, time_step_min=0.001,
    time_step_rank="auto",
)  # fmt: skip
exaone = dict(
    sizes, architectures=["Exaone4ForCausalLM"], model_type="exaone4", attention_dropout=0.0, head_dim=8, rms_norm_eps=1e-05,
    rope_scaling=dict(rope_type="llama3", factor=16.0, low_freq_factor=1.0, high_freq_factor=4.0,
                      original_max_position_embeddings=64),
    rope_theta=1000000,
)  # fmt: skip
mla = dict(
    sizes, attention_bias=False, attention_dropout=0.0, num_hidden_layers=3, num_key_value_heads=4, first_k_dense_replace=1,
    kv_lora_rank=16, q_lora_rank=24, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=12, moe_intermediate_size=16,
    n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3, rms_norm_eps=1e-06, rope_theta=10000,
    tie_word_embeddings=False,
)  # fmt: skip
deepseek = dict(mla, aux_loss_alpha=0.001, moe_layer_freq=1, pretraining_tp=1, seq_aux=True)

mistral4 = dict(
    {key: value for key, value in mla.items() if key != "rope_theta"}, head_dim=12, model_type="mistral4", n_group=1,
    norm_topk_prob=True, qk_head_dim=12, rope_interleave=True, routed_scaling_factor=1.5, topk_group=1,
    rope_parameters=dict(
        {key: value for key, value in growing.items() if key != "type"}, partial_rotary_factor=1 / 3, type="yarn",
    ),
)  # fmt: skip

indexer = dict(index_head_dim=8, index_n_heads=8, index_topk=6)
glm5 = dict(
    {key: value for key, value in mla.items() if key != "rope_theta"}, **indexer, architectures=["GlmMoeDsaForCausalLM"],
    model_type="glm_moe_dsa", ep_size=1, indexer_rope_interleave=True, moe_layer_freq=1, n_group=1, norm_topk_prob=True,
    num_nextn_predict_layers=1, pretraining_tp=1, qk_head_dim=12, rms_norm_eps=1e-05, rope_interleave=True,
    routed_scaling_factor=2.5, scoring_func="sigmoid", topk_group=1, topk_method="noaux_tc",
)  # fmt: skip


def mla_yarn(scale, fast=32):
    return dict(beta_fast=fast, beta_slow=1, factor=40, mscale=scale, mscale_all_dim=scale, original_max_position_embeddings=16,
                type="yarn")  # fmt: skip


gemma4_rope = dict(
    full_attention=dict(partial_rotary_factor=0.25, rope_theta=1000000.0, rope_type="proportional"),
    sliding_attention=dict(rope_theta=10000.0, rope_type="default"),
)
gemma4_text = dict(
    attention_bias=False, attention_dropout=0.0, attention_k_eq_v=False, bos_token_id=0, dtype="bfloat16",
    enable_moe_block=False, eos_token_id=1, final_logit_softcapping=5.0, global_head_dim=16, head_dim=8,
    hidden_activation="gelu_pytorch_tanh", hidden_size=32, hidden_size_per_layer_input=12, initializer_range=0.02,
    intermediate_size=48, layer_types=(["sliding_attention"] * 2 + ["full_attention"]) * 3, max_position_embeddings=256,
    model_type="gemma4_text", moe_intermediate_size=None, num_attention_heads=4, num_experts=None,
    num_global_key_value_heads=None, num_hidden_layers=9, num_key_value_heads=2, num_kv_shared_layers=4, pad_token_id=0,
    rms_norm_eps=1e-06, rope_parameters=gemma4_rope, sliding_window=6, tie_word_embeddings=True, top_k_experts=None,
    use_bidirectional_attention=None, use_cache=True, use_double_wide_mlp=True, vocab_size=vocabulary,
    vocab_size_per_layer_input=vocabulary,
)  # fmt: skip
gemma3n_text = dict(
    activation_sparsity_pattern=[0.95] * 3 + [0.6] + [0.0] * 4, altup_active_idx=0, altup_coef_clip=120.0, altup_correct_scale=True,
    altup_lr_multiplier=1.0, altup_num_inputs=4, attention_bias=False, attention_dropout=0.0, final_logit_softcapping=5.0,
    head_dim=8, hidden_activation="gelu_pytorch_tanh", hidden_size=32, hidden_size_per_layer_input=12, initializer_range=0.02,
    intermediate_size=[48] * 8, laurel_rank=16, layer_types=(["sliding_attention"] * 3 + ["full_attention"]) * 2,
    max_position_embeddings=256, model_type="gemma3n_text", num_attention_heads=4, num_hidden_layers=8, num_key_value_heads=2,
    num_kv_shared_layers=3, query_pre_attn_scalar=256, rms_norm_eps=1e-06, rope_local_base_freq=10000.0, rope_scaling=None,
    rope_theta=1000000.0, sliding_window=6, torch_dtype="bfloat16", use_cache=True, vocab_size=vocabulary,
    vocab_size_per_layer_input=vocabulary - 8,
)  # fmt: skip
llama4_text = dict(
    sizes, model_type="llama4_text", attention_bias=False, attention_chunk_size=6,
    attention_dropout=0.0, attn_scale=0.5, attn_temperature_tuning=True, floor_scale=8, for_llm_compressor=False, head_dim=8,
    interleave_moe_layer_step=2, intermediate_size=16, intermediate_size_mlp=48, no_rope_layers=[], num_experts_per_tok=1,
    num_hidden_layers=5, num_local_experts=4, output_router_logits=False, rms_norm_eps=1e-05,
    rope_scaling=dict(factor=8.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=64,
                      rope_type="llama3"),
    rope_theta=500000.0, router_aux_loss_coef=0.001, router_jitter_noise=0.0, tie_word_embeddings=False, use_qk_norm=True,
)  # fmt: skip
gemma4_large = dict(
    gemma4_text, attention_k_eq_v=True, hidden_size_per_layer_input=0, layer_types=gemma4_text["layer_types"][:3],
    num_global_key_value_heads=1, num_hidden_layers=3, num_kv_shared_layers=0, use_bidirectional_attention="vision",
    use_double_wide_mlp=False,
)
# Settings that the model with one network for text, images and sounds has not.
gemma4_others = ("enable_moe_block", "hidden_size_per_layer_input", "moe_intermediate_size", "num_experts", "top_k_experts",
                 "vocab_size_per_layer_input")  # fmt: skip
nemotron = dict(
    sizes, architectures=["NemotronHForCausalLM"], model_type="nemotron_h", attention_bias=False, attention_dropout=0.0,
    chunk_size=16, conv_kernel=4, expand=2, head_dim=16, hidden_dropout=0.0, layer_norm_epsilon=1e-05, mamba_head_dim=16,
    mamba_hidden_act="silu", mamba_num_heads=4, mamba_proj_bias=False, mlp_bias=False, mlp_hidden_act="relu2", n_groups=2,
    num_logits_to_keep=1, rescale_prenorm_residual=True, residual_in_fp32=False, ssm_state_size=8, tie_word_embeddings=False,
    time_step_floor=0.0001, time_step_max=0.1, time_step_min=0.001, use_bias=False, use_conv_bias=True, use_mamba_kernels=True,
)  # fmt: skip
nemotron3 = dict(
    nemotron, moe_intermediate_size=16, moe_shared_expert_intermediate_size=24, n_group=1, n_routed_experts=6,
    n_shared_experts=1, norm_eps=1e-05, norm_topk_prob=True, num_experts_per_tok=3, routed_scaling_factor=2.5,
    sliding_window=None, topk_group=1,
)  # fmt: skip


published = {
    "lfm2-moe": dict(
        sizes, architectures=["Lfm2MoeForCausalLM"], model_type="lfm2_moe", conv_L_cache=3, conv_bias=False,
        layer_types=["conv", "conv", "full_attention", "conv"], moe_intermediate_size=16, norm_eps=1e-05, norm_topk_prob=True,
        num_dense_layers=1, num_experts=6, num_experts_per_tok=3, num_hidden_layers=4, rope_theta=1000000.0,
        routed_scaling_factor=1.5, use_expert_bias=True,
    ),
    "llama4": dict(llama4_text, architectures=["Llama4ForCausalLM"]),
    "llama4-sees": dict(
        architectures=["Llama4ForConditionalGeneration"], boi_token_index=2, eoi_token_index=3, image_token_index=4,
        model_type="llama4", text_config=dict(llama4_text, num_hidden_layers=3, interleave_moe_layer_step=1, use_qk_norm=False),
        tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.51.0.dev0",
        vision_config=dict(
            attention_dropout=0.0, hidden_act="gelu", hidden_size=16, image_size=28, initializer_range=0.02, intermediate_size=64,
            model_type="llama4_vision_model", multi_modal_projector_bias=False, norm_eps=1e-05, num_attention_heads=2,
            num_channels=3, num_hidden_layers=1, patch_size=14, pixel_shuffle_ratio=0.5, projector_dropout=0.0,
            projector_input_dim=16, projector_output_dim=16, rope_theta=10000, vision_feature_layer=-1,
            vision_feature_select_strategy="default", vision_output_dim=16,
        ),
    ),
    "gemma3n": dict(gemma3n_text, architectures=["Gemma3nForCausalLM"], altup_active_idx=1, eos_token_id=1),
    "gemma3n-sees": dict(
        architectures=["Gemma3nForConditionalGeneration"], audio_soft_tokens_per_image=188, audio_token_id=3, boa_token_id=3,
        boi_token_id=2, eoa_token_id=3, eoi_token_id=2, eos_token_id=[1, 4], image_token_id=2, initializer_range=0.02,
        model_type="gemma3n", text_config=gemma3n_text, torch_dtype="bfloat16", transformers_version="4.53.0.dev0",
        vision_soft_tokens_per_image=256, audio_config=dict(model_type="gemma3n_audio"),
        vision_config=dict(architecture="mobilenetv5_300m_enc", model_type="gemma3n_vision"),
    ),
    "gemma4": dict(gemma4_text, architectures=["Gemma4ForCausalLM"]),
    "gemma4-sees": dict(
        architectures=["Gemma4ForConditionalGeneration"], audio_token_id=3, boa_token_id=3, boi_token_id=2, dtype="bfloat16",
        eoa_token_index=3, eoi_token_id=2, image_token_id=2, initializer_range=0.02, model_type="gemma4",
        text_config=gemma4_text, tie_word_embeddings=True, video_token_id=4, vision_soft_tokens_per_image=4,
        audio_config=dict(
            attention_chunk_size=4, attention_context_left=5, attention_context_right=0, conv_kernel_size=3, hidden_size=16,
            model_type="gemma4_audio", num_attention_heads=2, num_hidden_layers=1, output_proj_dims=16,
            subsampling_conv_channels=[8, 4],
        ),
        vision_config=dict(
            global_head_dim=8, head_dim=8, hidden_size=16, intermediate_size=16, model_type="gemma4_vision",
            num_attention_heads=2, num_hidden_layers=1, num_key_value_heads=2, patch_size=4, pooling_kernel_size=2,
            position_embedding_size=16,
        ),
    ),
    "gemma4-26b": dict(
        architectures=["Gemma4ForConditionalGeneration"], audio_config=None, audio_token_id=3, boa_token_id=3, boi_token_id=2,
        dtype="bfloat16", eoa_token_index=3, eoi_token_id=2, image_token_id=2, initializer_range=0.02, model_type="gemma4",
        tie_word_embeddings=True, video_token_id=4, vision_soft_tokens_per_image=4,
        text_config=dict(
            gemma4_large, enable_moe_block=True, moe_intermediate_size=16, num_experts=6, top_k_experts=3,
        ),
        vision_config=dict(
            global_head_dim=8, head_dim=8, hidden_size=16, intermediate_size=16, model_type="gemma4_vision",
            num_attention_heads=2, num_hidden_layers=1, num_key_value_heads=2, patch_size=4, pooling_kernel_size=2,
            position_embedding_size=16,
        ),
    ),
    "gemma4-12b": dict(
        architectures=["Gemma4UnifiedForConditionalGeneration"], audio_token_id=3, boa_token_id=3, boi_token_id=2, dtype="bfloat16",
        eoa_token_index=3, eoi_token_id=2, image_token_id=2, initializer_range=0.02, model_type="gemma4_unified",
        tie_word_embeddings=True, video_token_id=4,
        text_config=dict(
            {name: value for name, value in gemma4_large.items() if name not in gemma4_others}, model_type="gemma4_unified_text",
        ),
        vision_config=dict(
            mm_embed_dim=16, mm_posemb_size=4, model_type="gemma4_unified_vision", output_proj_dims=32, patch_size=4,
            pooling_kernel_size=2, rms_norm_eps=1e-06,
        ),
    ),
    "gemma4-31b": dict(gemma4_large, architectures=["Gemma4ForCausalLM"]),
    "gemma4-plain": dict(gemma4_text, architectures=["Gemma4ForCausalLM"], hidden_size_per_layer_input=0, num_kv_shared_layers=0,
                         use_double_wide_mlp=False, num_hidden_layers=3, layer_types=gemma4_text["layer_types"][:3]),
    "nemotron-h": dict(nemotron, hybrid_override_pattern="M-M*-", num_hidden_layers=5),
    "nemotron3": dict(nemotron3, hybrid_override_pattern="MEM*E", num_hidden_layers=5, time_step_min=0.5),
    "nemotron3-latent": dict(nemotron3, hybrid_override_pattern="ME*E", num_hidden_layers=4, moe_latent_size=12),
    "deepseek-v2-lite": dict(
        deepseek, architectures=["DeepseekV2ForCausalLM"], model_type="deepseek_v2", n_group=1, n_shared_experts=2,
        norm_topk_prob=False, q_lora_rank=None, rope_scaling=mla_yarn(0.707), routed_scaling_factor=1.0,
        scoring_func="softmax", topk_group=1, topk_method="greedy",
    ),
    "deepseek-v2": dict(
        deepseek, architectures=["DeepseekV2ForCausalLM"], model_type="deepseek_v2", ep_size=1, n_group=4,
        norm_topk_prob=False, rope_scaling=mla_yarn(0.707), routed_scaling_factor=3.0, scoring_func="softmax", topk_group=2,
        topk_method="group_limited_greedy",
    ),
    "deepseek-v3": dict(
        deepseek, architectures=["DeepseekV3ForCausalLM"], model_type="deepseek_v3", ep_size=1, n_group=4, norm_topk_prob=True,
        num_nextn_predict_layers=1, rope_scaling=mla_yarn(1.0), routed_scaling_factor=2.5, scoring_func="sigmoid", topk_group=2,
        topk_method="noaux_tc",
    ),
    "kimi-k2": dict(
        deepseek, architectures=["DeepseekV3ForCausalLM"], model_type="kimi_k2", ep_size=1, n_group=1, norm_topk_prob=True,
        num_nextn_predict_layers=0, rope_scaling=mla_yarn(1.0, fast=1.0), rope_theta=50000.0, routed_scaling_factor=2.827,
        scoring_func="sigmoid", topk_group=1, topk_method="noaux_tc",
    ),
    "glm4-moe-lite": dict(
        mla, architectures=["Glm4MoeLiteForCausalLM"], model_type="glm4_moe_lite", n_group=1, norm_topk_prob=True,
        num_nextn_predict_layers=1, partial_rotary_factor=1.0, rms_norm_eps=1e-05, rope_scaling=None, rope_theta=1000000,
        routed_scaling_factor=1.8, topk_group=1, topk_method="noaux_tc",
    ),
    "deepseek-v3.2": dict(
        mla, **indexer, architectures=["DeepseekV32ForCausalLM"], model_type="deepseek_v32", ep_size=1, moe_layer_freq=1,
        n_group=4, norm_topk_prob=True, num_nextn_predict_layers=1, rope_scaling=mla_yarn(1.0), routed_scaling_factor=2.5,
        scoring_func="sigmoid", topk_group=2, topk_method="noaux_tc",
    ),
    "glm5": dict(glm5, head_dim=4, rope_parameters=dict(rope_theta=1000000, rope_type="default")),
    "glm5.2": dict(
        glm5, head_dim=12, index_share_for_mtp_iteration=True, index_skip_topk_offset=2, index_topk_freq=2,
        index_topk_pattern=None, indexer_types=["full", "full", "shared", "full"], num_hidden_layers=4,
        num_nextn_predict_layers=0, rope_parameters=dict(rope_theta=8000000, rope_type="default"),
    ),
    "ernie4.5": dict(
        sizes, architectures=["Ernie4_5ForCausalLM"], model_type="ernie4_5", head_dim=8, rms_norm_eps=1e-05, rope_scaling=None,
        rope_theta=500000.0, tie_word_embeddings=True, use_bias=False,
    ),
    "ernie4.5-moe": dict(
        sizes, architectures=["Ernie4_5_MoeForCausalLM"], model_type="ernie4_5_moe", num_hidden_layers=3, rms_norm_eps=1e-05,
        moe_capacity=[64, 64, 64], moe_gate="topk", moe_intermediate_size=16, moe_k=3, moe_layer_end_index=2,
        moe_layer_interval=1, moe_layer_start_index=1, moe_num_experts=6, moe_num_shared_experts=2, moe_use_aux_free=True,
        num_nextn_predict_layers=1, output_router_logits=False, rope_scaling=None, rope_theta=500000.0,
        router_aux_loss_coef=0.001, tie_word_embeddings=True, use_bias=False,
    ),
    "seed-oss": dict(
        sizes, architectures=["SeedOssForCausalLM"], model_type="seed_oss", attention_bias=True, attention_dropout=0.1,
        attention_out_bias=False, head_dim=16, mlp_bias=False, residual_dropout=0.1, rms_norm_eps=1e-06,
        rope_scaling=dict(rope_type="default"), rope_theta=10000000.0, tie_word_embeddings=False,
    ),
    "granite4": dict(
        granite, layer_types=["attention", "attention"], position_embedding_type="rope", num_experts_per_tok=0,
        num_local_experts=0, intermediate_size=96, tie_word_embeddings=True,
    ),
    "granite4-h": dict(
        granite, layer_types=["mamba", "mamba", "attention", "mamba"], num_hidden_layers=4, position_embedding_type="nope",
        num_experts_per_tok=0, num_local_experts=0, tie_word_embeddings=True,
    ),
    "granite4-h-moe": dict(
        granite, layer_types=["mamba", "attention", "mamba"], num_hidden_layers=3, position_embedding_type="nope",
        num_experts_per_tok=3, num_local_experts=6, intermediate_size=16, shared_intermediate_size=24, mamba_d_head=16,
        mamba_n_groups=2, mamba_n_heads=4, tie_word_embeddings=False,
    ),
    "mamba2": mamba2,
    "mamba2-tied": dict(mamba2, n_groups=1, norm_before_gate=False, tie_word_embeddings=True, use_conv_bias=False),
    "bamba": bamba,
    "falcon-h1": dict(falcon, tie_word_embeddings=False),
    "falcon-h1-norm": dict(
        falcon, mamba_d_head=16, mamba_n_groups=2, mamba_n_heads=3 * 2, mamba_d_ssm=96, mamba_rms_norm=True,
        tie_word_embeddings=True,
    ),
    "qwen3-next": dict(
        sizes, architectures=["Qwen3NextForCausalLM"], model_type="qwen3_next", attention_bias=False, attention_dropout=0.0,
        decoder_sparse_step=1, full_attention_interval=4, head_dim=16, linear_conv_kernel_dim=4, linear_key_head_dim=8,
        linear_num_key_heads=2, linear_num_value_heads=6, linear_value_head_dim=12, mlp_only_layers=[],
        moe_intermediate_size=16, norm_topk_prob=True, num_experts=6, num_experts_per_tok=3, num_hidden_layers=4,
        output_router_logits=False, partial_rotary_factor=0.25, rms_norm_eps=1e-06, rope_scaling=None, rope_theta=10000000,
        router_aux_loss_coef=0.001, shared_expert_intermediate_size=24, tie_word_embeddings=False, use_sliding_window=False,
    ),
    "exaone4": dict(exaone, layer_types=["full_attention"] * 2, sliding_window=None, sliding_window_pattern=None,
                    tie_word_embeddings=True),
    "exaone4-window": dict(
        exaone, num_hidden_layers=4, layer_types=["sliding_attention"] * 3 + ["full_attention"], sliding_window=6,
        sliding_window_pattern="LLLG", tie_word_embeddings=False,
    ),
    "hunyuan": dict(
        sizes, architectures=["HunYuanDenseV1ForCausalLM"], model_type="hunyuan_v1_dense", attention_bias=False,
        attention_dropout=0.1, attention_head_dim=8, add_classification_head=False, cla_share_factor=2, dense_list=[32, 0],
        enable_lm_head_fp32=True, head_dim=8, mlp_bias=False, norm_type="rms", org_vocab_size=300, pretraining_tp=1,
        rms_norm_eps=1e-05, rope_scaling=ntk, rope_theta=10000.0, tie_word_embeddings=True, use_cla=False, use_qk_norm=True,
    ),
    "hunyuan-moe": dict(
        sizes, architectures=["HunYuanMoEV1ForCausalLM"], model_type="hunyuan_v1_moe", attention_bias=False,
        attention_dropout=0.1, attention_head_dim=8, cla_share_factor=2, group_limited_greedy=False, head_dim=8,
        intermediate_size=16, mlp_bias=False, moe_drop_tokens=False, moe_intermediate_size=[16, 16], moe_layer_num_skipped=0,
        moe_random_routing_dropped_token=False, moe_topk=[3, 3], n_group=False, norm_topk_prob=True, norm_type="rms",
        num_experts=6, num_shared_expert=[1, 1], org_vocab_size=300, pretraining_tp=1, rms_norm_eps=1e-05, rope_scaling=ntk,
        rope_theta=10000.0, routed_scaling_factor=1.0, tie_word_embeddings=True, topk_group=False, use_cla=False,
        use_mixed_mlp_moe=True, use_qk_norm=True,
    ),
    "glm": dict(
        sizes, architectures=["GlmForCausalLM"], model_type="glm", attention_bias=True, attention_dropout=0.0, head_dim=8,
        partial_rotary_factor=0.5, rms_norm_eps=1.5625e-07, rope_theta=10000.0, tie_word_embeddings=False,
    ),
    "mistral4": dict(
        architectures=["Mistral3ForConditionalGeneration"], dtype="bfloat16", image_token_index=10, model_type="mistral3",
        multimodal_projector_bias=False, projector_hidden_act="gelu", spatial_merge_size=2, text_config=mistral4,
        tie_word_embeddings=False, transformers_version="5.2.0", vision_config=eyes_config, vision_feature_layer=-1,
    ),
    "mistral4-text": dict(mistral4, architectures=["Mistral4ForCausalLM"], tie_word_embeddings=False),
    "ministral3": dict(
        architectures=["Mistral3ForConditionalGeneration"], dtype="bfloat16", image_token_index=10, model_type="mistral3",
        multimodal_projector_bias=False, projector_hidden_act="gelu", spatial_merge_size=2, text_config=ministral,
        tie_word_embeddings=False, transformers_version="5.0.0.dev0", vision_config=eyes_config, vision_feature_layer=-1,
    ),
    "ministral3-text": dict(ministral, architectures=["Ministral3ForCausalLM"], tie_word_embeddings=False),
    "glm4-moe": dict(
        sizes, architectures=["Glm4MoeForCausalLM"], model_type="glm4_moe", attention_bias=True, attention_dropout=0.0,
        first_k_dense_replace=1, head_dim=8, moe_intermediate_size=16, n_group=1, n_routed_experts=6, n_shared_experts=1,
        norm_topk_prob=True, num_experts_per_tok=3, num_hidden_layers=3, num_nextn_predict_layers=1,
        partial_rotary_factor=0.5, rms_norm_eps=1e-05, rope_scaling=None, rope_theta=1000000, routed_scaling_factor=2.5,
        tie_word_embeddings=False, topk_group=1, use_qk_norm=True,
    ),
    "minimax-m2": dict(
        sizes, architectures=["MiniMaxM2ForCausalLM"], model_type="minimax_m2", attention_dropout=0.0,
        attn_type_list=[1, 1], head_dim=8, intermediate_size=16, layernorm_full_attention_beta=1.0,
        layernorm_linear_attention_beta=1.0, layernorm_mlp_beta=1.0, max_model_len=256, mlp_intermediate_size=64,
        mtp_transformer_layers=1, num_experts_per_tok=3, num_local_experts=6, num_mtp_modules=3, output_router_logits=False,
        qk_norm_type="per_layer", rms_norm_eps=1e-06, rope_theta=5000000, rotary_dim=4, router_aux_loss_coef=0.001,
        router_jitter_noise=0.0, scoring_func="sigmoid", shared_intermediate_size=0, shared_moe_mode="sigmoid",
        sliding_window=None, tie_word_embeddings=False, use_mtp=True, use_qk_norm=True, use_routing_bias=True,
    ),
    "olmoe": dict(
        sizes, architectures=["OlmoeForCausalLM"], model_type="olmoe", attention_bias=False, attention_dropout=0.0,
        clip_qkv=None, intermediate_size=16, norm_topk_prob=False, num_experts=6, num_experts_per_tok=3,
        output_router_logits=False, rms_norm_eps=1e-05, rope_scaling=None, rope_theta=10000.0, router_aux_loss_coef=0.01,
        tie_word_embeddings=False,
    ),
}  # fmt: skip


def randomize(model: torch.nn.Module, seed: int) -> None:
    """Weights of a size that makes every part of the model count."""
    torch.manual_seed(seed)
    for name, value in [*model.named_parameters(), *model.named_buffers()]:
        # Large enough to change which experts are chosen.
        if name.endswith(("e_score_correction_bias", "expert_bias")):
            torch.nn.init.normal_(value, std=0.2)
    for name, value in model.named_parameters():
        if name.endswith("e_score_correction_bias"):
            continue
        # Larger factors of residual streams would grow with each layer, and so would the errors of rounding.
        if name.endswith(("prediction_coefs.weight", "correction_coefs.weight")):
            torch.nn.init.normal_(value, std=0.2)
        elif value.dim() > 1:
            torch.nn.init.normal_(value, std=0.6 if "embed" in name else 1.2 / value.shape[-1] ** 0.5)
        else:
            around = 1.0 if "norm" in name and float(value.mean()) > 0.5 else 0.0
            torch.nn.init.normal_(value, mean=around, std=0.2)


def packed(values: torch.Tensor) -> str:
    return base64.b64encode(values.float().numpy().astype("<f4").tobytes()).decode()


@torch.no_grad()
def run(model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast, prompt: str, steps: int = 12):
    ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    given = len(ids)
    rows, margin = [], float("inf")
    for _ in range(steps):
        logits = model(torch.tensor([ids]), use_cache=False).logits[0, -1]
        best = logits.topk(2).values
        margin = min(margin, float(best[0] - best[1]))
        rows.append(logits)
        ids.append(int(logits.argmax()))
    result = dict(
        prompt=prompt,
        ids=ids[:given],
        logits=[packed(row) for row in rows[:3]],
        greedy=ids[given:],
        text=tokenizer.decode(ids[given:]),
    )
    return result, margin


def answers(model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast):
    # The reference stretches the rotation by the length of the text, so each length is a model of its own.
    is_dynamic = (getattr(model.config, "rope_parameters", None) or {}).get("rope_type") == "dynamic"
    results = [run(model, tokenizer, prompt, 1 if is_dynamic else 12) for prompt in prompts]
    for result, _ in results if is_dynamic else []:
        result["contextLength"] = len(result["ids"])
    return [result for result, _ in results], min(margin for _, margin in results)


def write(name: str, model, results) -> None:
    made = dict(torch=torch.__version__.split("+")[0], transformers=transformers.__version__)
    content = dict(madeWith=made, results=results)
    (folder / name / "expected.json").write_text(json.dumps(content, ensure_ascii=False) + "\n")
    size = sum(path.stat().st_size for path in (folder / name).iterdir())
    print(name, f"{size / 1000:.0f} kB")


def make_decoder(name: str, tokenizer: PreTrainedTokenizerFast) -> None:
    kind, changes, dtype, shard = decoder_models[name]
    target = folder / name
    eyes = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=28)
    if kind == "Mistral3":
        model_class = transformers.Mistral3ForConditionalGeneration
        inner = transformers.MistralConfig(**{**common, **changes, "sliding_window": None})
        config = transformers.Mistral3Config(
            text_config=inner, vision_config=transformers.PixtralVisionConfig(**eyes), **changes
        )
    elif kind == "Gemma3Sees":
        model_class = transformers.Gemma3ForConditionalGeneration
        config = transformers.Gemma3Config(
            text_config=transformers.Gemma3TextConfig(**{**common, **changes}),
            vision_config=transformers.SiglipVisionConfig(**eyes, patch_size=14),
            mm_tokens_per_image=1,
            image_token_index=299,
        )
    elif kind in ("Qwen3_5Sees", "Qwen3_5MoeSees"):
        family = kind.removesuffix("Sees")
        part = lambda name: getattr(transformers, f"{family}{name}")
        model_class = part("ForConditionalGeneration")
        config = part("Config")(
            text_config=part("TextConfig")(**{**common, **changes}),
            vision_config=part("VisionConfig")(
                depth=1, hidden_size=16, intermediate_size=16, num_heads=2, patch_size=4, out_hidden_size=32,
                num_position_embeddings=4,
            ),
            image_token_id=296, video_token_id=297, vision_start_token_id=298, vision_end_token_id=299,
            tie_word_embeddings=changes.get("tie_word_embeddings", False),
        )  # fmt: skip
    else:
        model_class = getattr(transformers, f"{kind}ForCausalLM")
        config_class = getattr(transformers, f"{kind}TextConfig" if kind in ("Gemma3", "Qwen3_5", "Qwen3_5Moe") else f"{kind}Config")
        config = config_class(**{**common, **changes})
    for seed in range(1, 40):
        model = model_class(config).eval()
        randomize(model, seed)
        shutil.rmtree(target, ignore_errors=True)
        model.generation_config.temperature = 0.7
        model.generation_config.do_sample = True
        model.to(dtype).save_pretrained(target, max_shard_size=shard)
        loaded = model_class.from_pretrained(target, dtype=single, attn_implementation="eager").eval()
        results, margin = answers(loaded, tokenizer)
        if margin > 5e-3:
            if name in published_members:
                path = target / "config.json"
                content = published_members[name](json.loads(path.read_text()))
                path.write_text(json.dumps(content, indent=2) + "\n")
            add_tensors(name, dtype)
            return write(name, loaded, results)
    raise SystemExit(f"{name}: no seed has clear choices")


def make_published(name: str, tokenizer: PreTrainedTokenizerFast) -> None:
    target = folder / name
    content = published[name]
    model_class = getattr(transformers, content["architectures"][0])
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    text = json.dumps(content, indent=2) + "\n"
    (target / "config.json").write_text(text)
    # Kimi K2 has a model_type of its own, which the library does not know, and the class of DeepSeek V3.
    config_class = transformers.DeepseekV3Config if name == "kimi-k2" else transformers.AutoConfig
    config = config_class.from_pretrained(target, attn_implementation="eager")
    # Its part that sees is of a library that is not needed here.
    if name == "gemma3n-sees":
        config, model_class = config.text_config, transformers.Gemma3nForCausalLM
        config._attn_implementation = "eager"
    for seed in range(1, 40):
        model = model_class(config).eval()
        randomize(model, seed)
        model.generation_config.pad_token_id = None
        model.to(brain).save_pretrained(target)
        # The library would write other members.
        (target / "config.json").write_text(text)
        loaded = model_class.from_pretrained(target, config=config, dtype=single, attn_implementation="eager").eval()
        distance = watch_indexers(loaded)
        results, margin = answers(loaded, tokenizer)
        if margin > 5e-3 and distance() > 1e-5:
            add_tensors(name, brain)
            return write(name, loaded, results)
    raise SystemExit(f"{name}: no seed has clear choices")


def add_tensors(name: str, dtype: torch.dtype) -> None:
    if name not in added_tensors:
        return
    path = folder / name / "model.safetensors"
    save_file(added_tensors[name](load_file(path), dtype), path, metadata=dict(format="pt"))


# Name, layout, group size, `sym`, and the wider sizes that whole groups need.
packed_models = {
    "llama-awq": ("awq", 32, False),
    "qwen2-gptq": ("gptq", 64, True),
    "llama-gptq": ("gptq", 32, False),
}
wider = dict(hidden_size=64, intermediate_size=64, tie_word_embeddings=True, num_hidden_layers=1)
awq_order = [0, 2, 4, 6, 1, 3, 5, 7]


def nibbles(codes: torch.Tensor, order=range(8)) -> torch.Tensor:
    """Packs the last dimension, eight codes per 32-bit integer, the first of `order` lowest."""
    groups = codes.reshape(*codes.shape[:-1], -1, 8).to(torch.int64)
    words = sum(groups[..., place] << (4 * nibble) for nibble, place in enumerate(order))
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32).contiguous()


def pack(weight: torch.Tensor, layout: str, group: int, symmetric: bool):
    """Returns the published tensors of `[outputs, inputs]`, and the weight they stand for."""
    grouped = weight.T.reshape(-1, group, weight.shape[0])
    low, high = grouped.amin(1), grouped.amax(1)
    scales = torch.maximum(high, -low) / 7.5 if symmetric else (high - low) / 15
    scales = scales.half()
    zeros = torch.full_like(scales, 8) if symmetric else torch.round(-low / scales.float()).clamp(0, 15)
    spread = lambda values: values.float().repeat_interleave(group, 0)
    codes = torch.round(weight.T / spread(scales) + spread(zeros)).clamp(0, 15)
    unpacked = ((codes - spread(zeros)) * spread(scales)).T.contiguous()
    if layout == "awq":
        return dict(qweight=nibbles(codes, awq_order), qzeros=nibbles(zeros, awq_order), scales=scales), unpacked
    stored = dict(
        qweight=nibbles(codes.T).T.contiguous(),
        qzeros=nibbles(torch.remainder(zeros - 1, 16)),
        scales=scales,
        g_idx=torch.arange(codes.shape[0], dtype=torch.int32) // group,
    )
    return stored, unpacked


@torch.no_grad()
def make_packed(name: str, tokenizer: PreTrainedTokenizerFast) -> None:
    layout, group, symmetric = packed_models[name]
    kind = "Qwen2" if name.startswith("qwen2") else "Llama"
    target = folder / name
    config = getattr(transformers, f"{kind}Config")(**{**common, **wider})
    for seed in range(1, 40):
        model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
        randomize(model, seed)
        for value in model.parameters():
            value.copy_(value.half())
        tensors = {key: value.half() for key, value in model.state_dict().items() if key != "lm_head.weight"}
        for key, module in model.named_modules():
            if not isinstance(module, torch.nn.Linear) or key == "lm_head":
                continue
            del tensors[f"{key}.weight"]
            stored, module.weight.data = pack(module.weight.data, layout, group, symmetric)
            tensors.update({f"{key}.{part}": value for part, value in stored.items()})
        results, margin = answers(model, tokenizer)
        if margin > 2e-2:
            break
    else:
        raise SystemExit(f"{name}: no seed has clear choices")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    save_file(tensors, target / "model.safetensors", metadata=dict(format="pt"))
    settings = dict(quant_method=layout, bits=4, group_size=group)
    settings |= dict(version="gemm", zero_point=True) if layout == "awq" else dict(desc_act=False, sym=symmetric)
    content = json.loads(config.to_json_string(use_diff=False)) | dict(
        architectures=[f"{kind}ForCausalLM"], dtype="float16", quantization_config=settings
    )
    (target / "config.json").write_text(json.dumps(content, indent=2) + "\n")
    (target / "generation_config.json").write_text('{"bos_token_id": 0, "eos_token_id": 1}\n')
    write(name, model, results)


# The values of a code of MXFP4, whose upper half is negative.
levels = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]

def pack_mxfp4(weight: torch.Tensor):
    """Returns blocks and scales of `[experts, outputs, inputs]`, and the values they stand for."""
    groups = weight.reshape(*weight.shape[:-1], -1, 32)
    exponents = torch.floor(torch.log2(groups.abs().amax(-1, keepdim=True))) - 2
    scaled = groups / 2.0**exponents
    table = torch.tensor(levels)
    codes = (scaled.abs().unsqueeze(-1) - table).abs().argmin(-1)
    values = table[codes] * torch.where(scaled < 0, -1.0, 1.0) * 2.0**exponents
    signed = (codes + 8 * (scaled < 0)).to(torch.uint8)
    blocks = signed[..., ::2] | (signed[..., 1::2] << 4)
    return blocks.contiguous(), (exponents + 127).squeeze(-1).to(torch.uint8), values.reshape(weight.shape)


@torch.no_grad()
def make_gpt_oss(name: str, tokenizer: PreTrainedTokenizerFast) -> None:
    target = folder / name
    config = transformers.GptOssConfig(**{**common, **gpt_oss})
    for seed in range(1, 40):
        model = transformers.GptOssForCausalLM(config).eval()
        randomize(model, seed)
        for value in model.parameters():
            value.copy_(value.bfloat16())
        tensors = {key: value.bfloat16() for key, value in model.state_dict().items()}
        for key, value in model.named_parameters():
            if not key.endswith("_proj") or ".experts." not in key:
                continue
            del tensors[key]
            blocks, scales, kept = pack_mxfp4(value.swapaxes(1, 2) * 4)
            tensors |= {f"{key}_blocks": blocks, f"{key}_scales": scales}
            value.copy_(kept.swapaxes(1, 2))
        results, margin = answers(model, tokenizer)
        if margin > 1e-2:
            break
    else:
        raise SystemExit(f"{name}: no seed has clear choices")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    save_file({key: value.contiguous() for key, value in tensors.items()}, target / "model.safetensors", metadata=dict(format="pt"))
    settings = dict(quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn", "lm_head"])
    content = json.loads(config.to_json_string(use_diff=False)) | dict(
        architectures=["GptOssForCausalLM"], dtype="bfloat16", quantization_config=settings
    )
    (target / "config.json").write_text(json.dumps(content, indent=2) + "\n")
    (target / "generation_config.json").write_text('{"bos_token_id": 0, "eos_token_id": 1}\n')
    write(name, model, results)


def fp8(values: torch.Tensor, scale: torch.Tensor):
    codes = (values / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
    return codes, codes.float() * scale


def code_blocks(weight: torch.Tensor):
    """8-bit floats with a scale per 128 rows and columns."""
    rows, columns = (-(-size // 128) for size in weight.shape)
    spread = lambda scales: scales.repeat_interleave(128, 0).repeat_interleave(128, 1)[: weight.shape[0], : weight.shape[1]]
    scales = torch.stack([
        torch.stack([weight[128 * r : 128 * (r + 1), 128 * c : 128 * (c + 1)].abs().amax() / 448 for c in range(columns)])
        for r in range(rows)
    ])  # fmt: skip
    codes, values = fp8(weight, spread(scales))
    return dict(weight=codes, weight_scale_inv=scales), values


def code_channels(weight: torch.Tensor):
    scales = (weight.abs().amax(1, keepdim=True) / 448).bfloat16()
    codes, values = fp8(weight, scales.float())
    return dict(weight=codes, weight_scale=scales), values


def code_whole(weight: torch.Tensor):
    scale = weight.abs().amax() / 448
    codes, values = fp8(weight, scale)
    return dict(weight=codes, weight_scale=scale, input_scale=torch.tensor(0.02)), values


def code_mx8(weight: torch.Tensor):
    """8-bit floats with the exponent of a power of two per 32 inputs."""
    groups = weight.reshape(weight.shape[0], -1, 32)
    exponents = torch.floor(torch.log2(groups.abs().amax(-1, keepdim=True))) - 8
    codes, values = fp8(groups, 2.0**exponents)
    return dict(weight=codes.reshape(weight.shape), weight_scale=(exponents.squeeze(-1) + 127).to(torch.uint8)), values.reshape(weight.shape)


def code_nvfp4(weight: torch.Tensor, modelopt: bool = False):
    """4-bit floats, with an 8-bit float per 16 inputs and a number for all; the two publishers disagree on its direction."""
    groups = weight.reshape(weight.shape[0], -1, 16)
    whole = 448 * 6 / weight.abs().amax()
    factor = 1 / whole if modelopt else whole
    scales = (groups.abs().amax(-1, keepdim=True) / 6 * whole).to(torch.float8_e4m3fn)
    real = scales.float() * factor if modelopt else scales.float() / factor
    table = torch.tensor(levels)
    codes = ((groups / real).abs().unsqueeze(-1) - table).abs().argmin(-1)
    values = table[codes] * torch.where(groups < 0, -1.0, 1.0) * real
    signed = (codes + 8 * (groups < 0)).to(torch.uint8).reshape(weight.shape)
    pairs = (signed[:, ::2] | (signed[:, 1::2] << 4)).contiguous()
    if modelopt:
        parts = dict(weight=pairs, weight_scale=scales.squeeze(-1), weight_scale_2=factor, input_scale=torch.tensor(0.01))
    else:
        parts = dict(weight_packed=pairs, weight_scale=scales.squeeze(-1), weight_global_scale=factor.reshape(1))
        parts |= dict(input_global_scale=torch.tensor([100.0]))
    return parts, values.reshape(weight.shape)


def code_mxfp4(weight: torch.Tensor):
    blocks, scales, values = pack_mxfp4(weight)
    return dict(weight_packed=blocks.reshape(weight.shape[0], -1), weight_scale=scales), values


def words_of(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Packs the last dimension into 32-bit integers, the first code lowest."""
    groups = codes.reshape(*codes.shape[:-1], -1, 32 // bits).to(torch.int64)
    words = sum(groups[..., place] << (bits * place) for place in range(32 // bits))
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32).contiguous()


def code_integers(weight: torch.Tensor, bits: int, symmetric: bool = True, order: bool = False, group: int = 32, gptq: bool = False):
    """Packed integers of compressed-tensors along inputs, or of GPTQ along outputs."""
    top = 2**bits - 1
    inputs = weight.shape[1]
    index = torch.arange(inputs) // group
    if order:
        index = index[torch.randperm(inputs, generator=torch.Generator().manual_seed(5))]
    spread = lambda values: values.float()[:, index]
    by_group = torch.stack([weight[:, index == each] for each in range(inputs // group)], 1)
    low, high = by_group.amin(-1), by_group.amax(-1)
    scales = (torch.maximum(high, -low) / (top / 2) if symmetric else (high - low) / top).half()
    middle = 2 ** (bits - 1)
    zeros = torch.full_like(scales, middle) if symmetric else torch.round(-low / scales.float()).clamp(0, top)
    codes = torch.round(weight / spread(scales) + spread(zeros)).clamp(0, top)
    values = (codes - spread(zeros)) * spread(scales)
    if gptq:
        parts = dict(qweight=words_of(codes, bits).T.contiguous(), qzeros=words_of(torch.remainder(zeros.T - 1, top + 1), bits),
                     scales=scales.T.contiguous(), g_idx=index.to(torch.int32))  # fmt: skip
        return parts, values
    parts = dict(weight_packed=words_of(codes, bits), weight_scale=scales, weight_shape=torch.tensor(weight.shape))
    if not symmetric:
        parts |= dict(weight_zero_point=words_of(zeros.T, bits).T.contiguous())
    return parts | (dict(weight_g_idx=index.to(torch.int32)) if order else {}), values


def code_bytes(weight: torch.Tensor):
    scales = (weight.abs().amax(1, keepdim=True) / 127).bfloat16()
    codes = torch.round(weight / scales.float()).clamp(-127, 127).to(torch.int8)
    return dict(weight=codes, weight_scale=scales), codes.float() * scales.float()


def compressed(form: str, **weights) -> dict:
    usual = dict(actorder=None, block_structure=None, dynamic=False, group_size=None, observer="minmax", observer_kwargs={},
                 strategy="channel", symmetric=True, type="int")  # fmt: skip
    group = dict(format=form, input_activations=None, output_activations=None, targets=["Linear"], weights={**usual, **weights})
    return dict(config_groups=dict(group_0=group), format=form, global_compression_ratio=None, ignore=["lm_head"],
                kv_cache_scheme=None, quant_method="compressed-tensors", quantization_status="compressed", sparsity_config={},
                transform_config={}, version="0.15.0")  # fmt: skip


blocks_of_fp8 = dict(activation_scheme="dynamic", fmt="e4m3", quant_method="fp8", weight_block_size=[128, 128])
grouped = dict(strategy="group", group_size=32)
uneven = dict(hidden_size=144, intermediate_size=160, head_dim=40, num_hidden_layers=1)
# Name, class or name in `published`, what differs, settings of the quantization, and how a layer is coded.
coded_models = {
    "qwen3-fp8": ("Qwen3", uneven, blocks_of_fp8, code_blocks),
    "deepseek-v3-fp8": ("deepseek-v3", {}, blocks_of_fp8, code_blocks),
    "deepseek-v3.2-fp8": ("deepseek-v3.2", {}, dict(blocks_of_fp8, scale_fmt="ue8m0"), code_blocks),
    "llama-fp8-channel": ("Llama", wider, compressed("float-quantized", num_bits=8, type="float"), code_channels),
    "llama-fp8-modelopt": ("Llama", wider, dict(quant_method="modelopt", quant_algo="FP8"), code_whole),
    "llama-mxfp8": ("Llama", wider, dict(quant_method="modelopt", quant_algo="MXFP8"), code_mx8),
    "llama-nvfp4": ("Llama", wider, compressed(
        "nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group", group_size=16), code_nvfp4),
    "qwen3-moe-nvfp4": ("Qwen3Moe", dict(
        hidden_size=64, num_hidden_layers=1, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, head_dim=16,
        norm_topk_prob=True), dict(quant_method="modelopt", quant_algo="NVFP4", ignore=["lm_head"]),
        lambda weight: code_nvfp4(weight, True)),
    "llama-mxfp4": ("Llama", wider, compressed("mxfp4-pack-quantized", num_bits=4, type="float", **grouped), code_mxfp4),
    "llama-w4a16": ("Llama", wider, compressed("pack-quantized", num_bits=4, **grouped), lambda weight: code_integers(weight, 4)),
    "llama-w4a16-zeros": ("Llama", wider, compressed("pack-quantized", num_bits=4, **{**grouped, "symmetric": False}),
                          lambda weight: code_integers(weight, 4, symmetric=False)),
    "llama-w4a16-order": ("Llama", wider, compressed("pack-quantized", num_bits=4, **{**grouped, "actorder": "group"}),
                          lambda weight: code_integers(weight, 4, order=True)),
    "llama-w8a16": ("Llama", wider, compressed("pack-quantized", num_bits=8),
                    lambda weight: code_integers(weight, 8, group=weight.shape[1])),
    "llama-w8a8": ("Llama", wider, compressed("int-quantized", num_bits=8), code_bytes),
    "llama-gptq-8": ("Llama", wider, dict(quant_method="gptq", bits=8, group_size=32, desc_act=False, sym=True),
                     lambda weight: code_integers(weight, 8, gptq=True)),
    "llama-gptq-8-zeros": ("Llama", wider, dict(quant_method="gptq", bits=8, group_size=32, desc_act=False, sym=False),
                           lambda weight: code_integers(weight, 8, symmetric=False, gptq=True)),
    "llama-gptq-order": ("Llama", wider, dict(quant_method="gptq", bits=4, group_size=32, desc_act=True, sym=True),
                         lambda weight: code_integers(weight, 4, order=True, gptq=True)),
}  # fmt: skip


@torch.no_grad()
def make_coded(name: str, tokenizer: PreTrainedTokenizerFast) -> None:
    kind, changes, settings, code = coded_models[name]
    target = folder / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    if kind in published:
        content = {**published[kind], "quantization_config": settings}
        (target / "config.json").write_text(json.dumps({**content, "quantization_config": None}))
        config = transformers.AutoConfig.from_pretrained(target, attn_implementation="eager")
        model_class = getattr(transformers, content["architectures"][0])
    else:
        config = getattr(transformers, f"{kind}Config")(**{**common, **changes})
        model_class = getattr(transformers, f"{kind}ForCausalLM")
        content = json.loads(config.to_json_string(use_diff=False)) | dict(
            architectures=[f"{kind}ForCausalLM"], dtype="bfloat16", quantization_config=settings
        )
    linear = re.compile(r".*\.(?:[qkvo]_proj|[qk]v?_[ab]_proj\w*|gate_proj|up_proj|down_proj|indexer\.w(?:q_b|k))\.weight")
    for seed in range(1, 40):
        model = model_class(config).eval()
        randomize(model, seed)
        # The library stacks experts, and files have them one by one.
        model.bfloat16().save_pretrained(target)
        tensors = load_file(target / "model.safetensors")
        plain, stored = {}, {}
        for key, value in tensors.items():
            if not linear.fullmatch(key):
                plain[key] = stored[key] = value
                continue
            parts, plain[key] = code(value.float())
            stored |= {key.removesuffix("weight") + part: each.contiguous() for part, each in parts.items()}
        save_file(plain, target / "model.safetensors", metadata=dict(format="pt"))
        model = model_class.from_pretrained(target, config=config, dtype=single, attn_implementation="eager").eval()
        distance = watch_indexers(model)
        results, margin = answers(model, tokenizer)
        if margin > 5e-3 and distance() > 1e-5:
            break
    else:
        raise SystemExit(f"{name}: no seed has clear choices")
    save_file(stored, target / "model.safetensors", metadata=dict(format="pt"))
    (target / "config.json").write_text(json.dumps(content, indent=2) + "\n")
    (target / "generation_config.json").write_text('{"bos_token_id": 0, "eos_token_id": 1}\n')
    write(name, model, results)


def main() -> None:
    tokenizer = make_tokenizer()
    if len(sys.argv) == 1:
        shutil.rmtree(folder / "tokenizer", ignore_errors=True)
        tokenizer.save_pretrained(folder / "tokenizer")
    for name in sys.argv[1:] or [*decoder_models, *published, *packed_models, *coded_models, "gpt-oss"]:
        makers = {"gpt-oss": make_gpt_oss} | dict.fromkeys(packed_models, make_packed) | dict.fromkeys(coded_models, make_coded) | dict.fromkeys(published, make_published)
        make = makers.get(name, make_decoder)
        make(name, tokenizer)


main()
