"""Writes tiny encoders of which transformers has no class: Nomic v2 with experts, and Jina v2 with ALiBi positions.

    /tmp/reference/bin/python tools/reference/torch_encoders.py

`text_encoders.py` names the versions and the folders. The modules below are written after what the authors publish about
their models, and have the names of the published tensors. llama.cpp (`libllama` 0.5.0 of node-llama-cpp) gave the same
vectors within 1.1e-3, which is its approximation of GELU in 16 bits: as for Nomic v1, and without the bias behind
experts, which its files lack. For the model of code, its halves of the gate were exchanged, as llama.cpp wants them.
"""

import itertools
import math
import shutil

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional

from text_encoders import (
    bert_words, byte_level, encoders, packed, positions, roberta_words, sentence_files, texts, unigram, word_piece, write,
)


class Rotary(nn.Module):
    """Self-attention of Nomic: one projection of queries, keys and values, and halves that rotate."""

    def __init__(self, size: int, heads: int, base: float):
        super().__init__()
        self.Wqkv = nn.Linear(size, 3 * size)
        self.out_proj = nn.Linear(size, size)
        self.heads, self.base = heads, base

    def forward(self, hidden):
        length, size = hidden.shape
        split = self.Wqkv(hidden).view(length, 3, self.heads, size // self.heads)
        query, key, value = (part.transpose(0, 1) for part in split.unbind(1))
        half = query.shape[-1] // 2
        frequencies = self.base ** (-torch.arange(half) / half)
        turns = torch.polar(torch.ones(length, half), torch.arange(length)[:, None] * frequencies)

        def rotated(values):
            turned = torch.complex(values[..., :half], values[..., half:]) * turns
            return torch.cat([turned.real, turned.imag], -1)

        scores = rotated(query) @ rotated(key).transpose(1, 2) / math.sqrt(2 * half)
        return self.out_proj((scores.softmax(-1) @ value).transpose(0, 1).reshape(length, size))


class Plain(nn.Module):
    def __init__(self, size: int, inner: int):
        super().__init__()
        self.fc1 = nn.Linear(size, inner)
        self.fc2 = nn.Linear(inner, size)

    def forward(self, hidden):
        return self.fc2(functional.gelu(self.fc1(hidden)))


class Experts(nn.Module):
    """The weights of the chosen experts are shares of all, and one bias follows the sum."""

    def __init__(self, size: int, inner: int, count: int, used: int):
        super().__init__()
        self.router = nn.ModuleDict({"layer": nn.Linear(size, count, bias=False)})
        self.experts = nn.Module()
        self.experts.mlp = nn.Module()
        self.experts.mlp.w1 = nn.Parameter(torch.empty(count * inner, size))
        self.experts.mlp.w2 = nn.Parameter(torch.empty(count * inner, size))
        self.experts.bias = nn.Parameter(torch.zeros(size))
        self.inner, self.used = inner, used
        # The smallest lead of a chosen expert over one that was not.
        self.margin = 1.0

    def forward(self, hidden):
        all_shares = self.router["layer"](hidden).softmax(-1)
        shares, chosen = all_shares.topk(self.used)
        rest = all_shares.scatter(-1, chosen, 0).max(-1).values
        self.margin = min(self.margin, float((shares[:, -1] - rest).min()))
        rows = []
        for token, token_shares, experts in zip(hidden, shares, chosen):
            row = self.experts.bias
            for share, expert in zip(token_shares, experts.tolist()):
                mine = slice(expert * self.inner, (expert + 1) * self.inner)
                row = row + share * (functional.gelu(self.experts.mlp.w1[mine] @ token) @ self.experts.mlp.w2[mine])
            rows.append(row)
        return torch.stack(rows)


class Nomic(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        size, inner = config["n_embd"], config["n_inner"]
        norm = lambda: nn.LayerNorm(size, config["layer_norm_epsilon"])
        self.embeddings = nn.ModuleDict({
            "word_embeddings": nn.Embedding(config["vocab_size"], size),
            "token_type_embeddings": nn.Embedding(config["type_vocab_size"], size),
        })
        self.emb_ln = norm()
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList()
        for layer in range(config["n_layer"]):
            has_experts = layer % config["moe_every_n_layers"] == 1
            plain = Plain(size, inner)
            self.encoder.layers.append(nn.ModuleDict({
                "attn": Rotary(size, config["n_head"], config["rotary_emb_base"]),
                "mlp": Experts(size, inner, config["num_experts"], config["moe_top_k"]) if has_experts else plain,
                "norm1": norm(),
                "norm2": norm(),
            }))

    def forward(self, ids):
        tables = self.embeddings
        hidden = self.emb_ln(tables["word_embeddings"].weight[ids] + tables["token_type_embeddings"].weight[0])
        for layer in self.encoder.layers:
            hidden = layer["norm1"](hidden + layer["attn"](hidden))
            hidden = layer["norm2"](hidden + layer["mlp"](hidden))
        return hidden


def slopes(heads: int) -> list[float]:
    """As the paper has them: from a geometric series, and from that of twice as many for heads beyond a power of two."""
    if math.log2(heads).is_integer():
        first = 2.0 ** (-8 / heads)
        return [first**power for power in range(1, heads + 1)]
    below = 2 ** int(math.log2(heads))
    return slopes(below) + slopes(2 * below)[::2][: heads - below]


class Linear(nn.Module):
    """Self-attention of Jina v2, whose scores fall with the distance to both sides; the model for code norms them."""

    def __init__(self, size: int, heads: int, norm):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.heads = heads
        if norm is not None:
            self.layer_norm_q, self.layer_norm_k = norm(), norm()

    def forward(self, hidden):
        length, size = hidden.shape
        query, key, value = self.query(hidden), self.key(hidden), self.value(hidden)
        if hasattr(self, "layer_norm_q"):
            query, key = self.layer_norm_q(query), self.layer_norm_k(key)
        place = torch.arange(length)
        outputs = []
        for head, slope in enumerate(slopes(self.heads)):
            width = size // self.heads
            mine = slice(head * width, (head + 1) * width)
            scores = query[:, mine] @ key[:, mine].T / math.sqrt(width)
            scores = scores - slope * (place[:, None] - place[None, :]).abs()
            outputs.append(scores.softmax(-1) @ value[:, mine])
        return torch.cat(outputs, -1)


class Jina(nn.Module):
    def __init__(self, config: dict, is_code: bool):
        super().__init__()
        size, inner = config["hidden_size"], config["intermediate_size"]
        norm = lambda: nn.LayerNorm(size, config["layer_norm_eps"])
        self.inner, self.is_code = inner, is_code
        self.embeddings = nn.ModuleDict({
            "word_embeddings": nn.Embedding(config["vocab_size"], size),
            "token_type_embeddings": nn.Embedding(config["type_vocab_size"], size),
            "LayerNorm": norm(),
        })
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList()
        for _ in range(config["num_hidden_layers"]):
            layer, mlp = nn.Module(), nn.Module()
            layer.attention = nn.ModuleDict({
                "self": Linear(size, config["num_attention_heads"], norm if is_code else None),
                "output": nn.ModuleDict({"dense": nn.Linear(size, size), "LayerNorm": norm()}),
            })
            if is_code:
                layer.layer_norm_1, layer.layer_norm_2 = norm(), norm()
                mlp.up_gated_layer = nn.Linear(size, 2 * inner, bias=False)
                mlp.down_layer = nn.Linear(inner, size)
            else:
                mlp.gated_layers = nn.Linear(size, 2 * inner, bias=False)
                mlp.wo, mlp.layernorm = nn.Linear(inner, size), norm()
            layer.mlp = mlp
            self.encoder.layer.append(layer)
        self.pooler = nn.ModuleDict({"dense": nn.Linear(size, size)})

    def forward(self, ids):
        tables = self.embeddings
        summed = tables["word_embeddings"].weight[ids] + tables["token_type_embeddings"].weight[0]
        hidden = tables["LayerNorm"](summed)
        for layer in self.encoder.layer:
            output = layer.attention["output"]
            attended = output["LayerNorm"](output["dense"](layer.attention["self"](hidden)) + hidden)
            if self.is_code:
                middle = layer.layer_norm_1(hidden + attended)
                up, gate = layer.mlp.up_gated_layer(middle).split(self.inner, -1)
                hidden = layer.layer_norm_2(middle + layer.mlp.down_layer(up * functional.gelu(gate)))
            else:
                gate, up = layer.mlp.gated_layers(attended).split(self.inner, -1)
                hidden = layer.mlp.layernorm(layer.mlp.wo(functional.gelu(gate) * up) + attended)
        return hidden


def encoder(name: str, model: nn.Module, config: dict, tokenizer, prompts: dict[str, str] | None = None) -> None:
    folder = encoders / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with torch.no_grad():
        for key, value in model.named_parameters():
            is_gain = "norm" in key.lower() or "emb_ln" in key
            drawn = torch.randn_like(value) * (0.3 if value.ndim > 1 else 0.1)
            value.copy_(((1 if is_gain and key.endswith("weight") else 0) + drawn).half().float())
    save_file({key: value.half() for key, value in model.state_dict().items()}, folder / "model.safetensors",
              metadata={"format": "pt"})
    write(folder / "config.json", config)
    tokenizer.save_pretrained(folder)
    (folder / "special_tokens_map.json").unlink(missing_ok=True)
    sentence_files(folder, "mean", next(model.parameters()).shape[1], prompts)

    def vectors(prefix: str = "") -> list[str]:
        with torch.no_grad():
            pooled = [model(torch.tensor(tokenizer(prefix + text)["input_ids"])).mean(0) for text in texts]
        return [packed(functional.normalize(vector, dim=0)) for vector in pooled]

    result = {"texts": texts, "ids": [tokenizer(text)["input_ids"] for text in texts], "vectors": vectors()}
    result |= {key: vectors(prefix) for key, prefix in (prompts or {}).items()}
    biases = [value for key, value in model.named_parameters() if key.endswith("experts.bias")]
    if biases:
        # llama.cpp's converter drops them.
        with torch.no_grad():
            for bias in biases:
                bias.zero_()
        result["withoutBias"] = vectors()
    write(folder / "reference.json", result)


def nomic() -> None:
    tokenizer = unigram(roberta_words)
    config = {
        "activation_function": "gelu", "architectures": ["NomicBertModel"], "expert_choice_router": False,
        "layer_norm_epsilon": 1e-5, "max_trained_positions": positions, "mlp_fc1_bias": True, "mlp_fc2_bias": True,
        "model_type": "nomic_bert", "moe_every_n_layers": 2, "moe_normalize_expert_weights": False, "moe_top_k": 2,
        "n_embd": 32, "n_head": 4, "n_inner": 48, "n_layer": 3, "n_positions": positions, "num_experts": 4,
        "num_shared_experts": 0, "pad_token_id": 1, "prenorm": False, "qkv_proj_bias": True, "rotary_emb_base": 10000,
        "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False, "rotary_scaling_factor": None,
        "torch_dtype": "float16", "type_vocab_size": 1, "vocab_size": len(tokenizer),
    }
    prompts = {"query": "search_query: ", "passage": "search_document: "}
    # Every implementation must choose the same experts, so no token may be near a tie.
    for seed in itertools.count(41):
        torch.manual_seed(seed)
        model = Nomic(config)
        encoder("tiny-nomic-v2", model, config, tokenizer, prompts)
        if model.encoder.layers[1]["mlp"].margin > 1e-3:
            break


def jina() -> None:
    # Heads of a number that is no power of two have slopes of two series.
    for name, is_code, tokenizer, sizes in [
        ("tiny-jina-v2", False, word_piece(bert_words), {"hidden_size": 48, "num_attention_heads": 6}),
        ("tiny-jina-v2-code", True, byte_level(roberta_words), {"hidden_size": 32, "num_attention_heads": 4}),
    ]:
        torch.manual_seed(43)
        config = {
            "architectures": ["JinaBertForMaskedLM"], "emb_pooler": "mean", "feed_forward_type": "geglu",
            "hidden_act": "gelu", "intermediate_size": 40, "layer_norm_eps": 1e-12, "max_position_embeddings": positions,
            "model_max_length": positions, "model_type": "bert", "num_hidden_layers": 2,
            "pad_token_id": tokenizer.pad_token_id, "position_embedding_type": "alibi", "torch_dtype": "float16",
            "type_vocab_size": 2, "vocab_size": len(tokenizer), **sizes,
        }
        encoder(name, Jina(config, is_code), config, tokenizer)


if __name__ == "__main__":
    nomic()
    jina()
