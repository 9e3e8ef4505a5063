"""Writes tiny decoders that are embedding models or rerankers, and what the reference makes of some texts.

    python -m venv /tmp/reference && /tmp/reference/bin/pip install torch==2.15.0 transformers==5.24.0 \
        sentence-transformers==6.2.0 safetensors numpy gguf==0.19.0
    /tmp/reference/bin/python tools/reference/pooling_models.py [functions…]

The folders have random weights, and the files and settings of the published models, next to the specs that read them:
- `libs/inference/src/families/text-embedding/__fixtures__/<model>/`: `reference.json` has vectors of texts.
- `libs/inference/src/families/cross-encoder/__fixtures__/<model>/`: `reference.json` has logits of pairs.
- `…/__fixtures__/gguf/<model>.gguf`: the same weights as llama.cpp's converter writes them.
"""

import json
import math
import pathlib
import re
import shutil
import sys

import gguf
import numpy
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from text_encoders import encoders as embedders
from text_encoders import packed, query, rerankers, write

texts = [
    "Hello.",
    "The river was happy, and the boat was small.",
    "Crème brûlée, naïve café: déjà vu!",
    "水が好きです",
    "🌊 wave — “quoted” … 3.14159 (42%)",
    "a b c   d",
    "",
    # Almost as long as the model can read.
    "the river was happy and the boat was small " * 28,
]
positions = 256
hidden, heads, key_value_heads, head, inner, layers = 32, 4, 2, 16, 48, 2
qwen_words = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
instruction = "Given a web search query, retrieve relevant passages that answer the query"
prefix = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
suffix = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


def byte_level(special: list[str], plain: list[str], template: str, size: int) -> Tokenizer:
    """A byte-level vocabulary that splits words as Qwen's does. `template` is what the post-processor adds."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(qwen_words), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(special) - len(plain), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator([*texts, *["yes", "no"] * 20], trainer)
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in special])
    tokenizer.add_tokens([AddedToken(word, special=False, normalized=False) for word in plain])
    assert tokenizer.get_vocab_size() == size
    names = [word for word in special if word in template]
    ids = [(name, tokenizer.token_to_id(name)) for name in names]
    process = processors.TemplateProcessing(single=template, pair=f"{template} $B:1", special_tokens=ids)
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), process])
    return tokenizer


qwen_special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def qwen_tokenizer(template: str) -> Tokenizer:
    return byte_level(qwen_special, ["<think>", "</think>"], template, 330)


def randomize(model) -> dict[str, torch.Tensor]:
    """Weights that are exact in half precision, with norms that do something."""
    with torch.no_grad():
        for name, values in model.named_parameters():
            noise = torch.randn_like(values)
            if "embed_tokens" in name:
                drawn = noise * 0.5
            elif values.ndim == 1:
                drawn = noise * 0.2 + (0 if name.endswith("bias") or values.mean() == 0 else 1)
            else:
                drawn = noise * 1.4 / math.sqrt(values.shape[-1])
            values.copy_(drawn.half().float())
    return dict(model.state_dict())


def store(folder: pathlib.Path, config: dict, tensors: dict, tokenizer: Tokenizer, tokenizer_config: dict) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write(folder / "config.json", config)
    save_file({name: value.half().contiguous() for name, value in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **tokenizer_config})


def sentence_files(folder: pathlib.Path, pooling: str, prompts: dict, dense=()) -> None:
    kinds = ["Transformer", "Pooling", *["Dense"] * len(dense), "Normalize"]
    write(folder / "modules.json", [
        {"idx": index, "name": str(index), "path": "" if index == 0 else f"{index}_{kind}",
         "type": f"sentence_transformers.models.{kind}"}
        for index, kind in enumerate(kinds)
    ])
    modes = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
    config = {"word_embedding_dimension": hidden, **{f"pooling_mode_{mode}": mode == pooling for mode in modes}}
    write(folder / "1_Pooling/config.json", {**config, "include_prompt": True})
    for index, (weight, bias, activation) in enumerate(dense, 2):
        outputs, inputs = weight.shape
        write(folder / f"{index}_Dense/config.json", {
            "in_features": inputs, "out_features": outputs, "bias": bias is not None,
            "activation_function": f"torch.nn.modules.{activation}",
        })
        tensors = {"linear.weight": weight, **({} if bias is None else {"linear.bias": bias})}
        save_file(tensors, folder / f"{index}_Dense/model.safetensors", {"format": "pt"})
    write(folder / "config_sentence_transformers.json",
          {"prompts": prompts, "default_prompt_name": None, "similarity_fn_name": "cosine"})


def references(folder: pathlib.Path, tokenizer: Tokenizer, vectors, end: int | None = None, wanted=texts, **more) -> None:
    ids = [tokenizer.encode(text).ids + ([] if end is None else [end]) for text in wanted]
    write(folder / "reference.json", {"texts": wanted, "ids": ids, "vectors": [packed(vector) for vector in vectors], **more})


def with_sentence_transformers(folder: pathlib.Path, tokenizer: Tokenizer, keys=(), wanted=texts) -> None:
    settings = {"dtype": torch.float32, "attn_implementation": "eager"}
    model = SentenceTransformer(str(folder), device="cpu", model_kwargs=settings)
    found = {key: [packed(vector) for vector in model.encode(short(wanted), batch_size=3, prompt_name=key)] for key in keys}
    references(folder, tokenizer, model.encode(wanted, batch_size=len(wanted), prompt=""), wanted=wanted, **found)


def short(wanted: list[str]) -> list[str]:
    """Texts that leave room for a prefix."""
    return [text for text in wanted if len(text) < 200]


def last_tokens(model, tokenizer: Tokenizer, end: int, bidirectional: bool):
    vectors = []
    for text in texts:
        ids = torch.tensor([[*tokenizer.encode(text).ids, end]])
        mask = torch.zeros(1, 1, ids.shape[1], ids.shape[1]) if bidirectional else None
        with torch.no_grad():
            vector = model(ids, attention_mask=mask, use_cache=False).last_hidden_state[0, -1]
        vectors.append(torch.nn.functional.normalize(vector, dim=0))
    return vectors


qwen3 = {
    "architectures": ["Qwen3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 325,
    "eos_token_id": 325, "head_dim": head, "hidden_act": "silu", "hidden_size": hidden, "initializer_range": 0.02,
    "intermediate_size": inner, "max_position_embeddings": positions, "max_window_layers": layers, "model_type": "qwen3",
    "num_attention_heads": heads, "num_hidden_layers": layers, "num_key_value_heads": key_value_heads, "rms_norm_eps": 1e-06,
    "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None, "tie_word_embeddings": True,
    "torch_dtype": "float16", "transformers_version": "4.51.3", "use_cache": True, "use_sliding_window": False,
    "vocab_size": 336,
}  # fmt: skip
qwen3_tokenizer = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "padding_side": "left", "add_bos_token": False,
                   "model_max_length": 131072}


def model_of(kind: str, config: dict):
    """A model of a class of transformers, by members of `config.json`."""
    settings = getattr(transformers, f"{re.sub('(Model|For.*)$', '', kind)}Config")
    unread = ("architectures", "transformers_version", "torch_dtype", "dtype")
    made = settings(**{key: value for key, value in config.items() if key not in unread})
    return getattr(transformers, kind)._from_config(made, attn_implementation="eager", dtype=torch.float32).eval()


def embedding_qwen3() -> None:
    torch.manual_seed(21)
    folder = embedders / "tiny-qwen3-embedding"
    model = model_of("Qwen3Model", qwen3)
    tensors = randomize(model)
    tokenizer = qwen_tokenizer("$A <|endoftext|>")
    store(folder, qwen3, tensors, tokenizer, qwen3_tokenizer)
    prompts = {"query": f"Instruct: {instruction}\nQuery:", "document": ""}
    sentence_files(folder, "lasttoken", prompts)
    with_sentence_transformers(folder, tokenizer, ["query"])
    keys = {"pooling_type": 3}
    write_gguf(embedders / "gguf/tiny-qwen3-embedding.gguf", "qwen3", qwen3, tensors, keys, tokenizer,
               end=("<|endoftext|>", True))


def embedding_mistral() -> None:
    """e5-mistral: its tokenizer adds no end token, and `add_eos_token` says that one belongs there."""
    torch.manual_seed(22)
    folder = embedders / "tiny-e5-mistral"
    config = {
        "architectures": ["MistralModel"], "bos_token_id": 328, "eos_token_id": 329, "hidden_act": "silu",
        "hidden_size": hidden, "initializer_range": 0.02, "intermediate_size": inner, "max_position_embeddings": positions,
        "model_type": "mistral", "num_attention_heads": heads, "num_hidden_layers": layers, "num_key_value_heads": key_value_heads,
        "pad_token_id": 329, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
        "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.34.0", "use_cache": False,
        "vocab_size": 330,
    }  # fmt: skip
    model = model_of("MistralModel", config)
    tensors = randomize(model)
    tokenizer = byte_level(["<unk>", "<s>", "</s>"], [], "<s> $A", 330)
    store(folder, config, tensors, tokenizer, {
        "add_bos_token": True, "add_eos_token": True, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
        "pad_token": "</s>",
    })
    web = f"Instruct: {instruction}\nQuery: "
    sentence_files(folder, "lasttoken", {"web_search_query": web, "sts_query": "Instruct: Retrieve semantically similar text.\nQuery: "})
    end = tokenizer.token_to_id("</s>")
    references(folder, tokenizer, last_tokens(model, tokenizer, end, False), end)


def embedding_gte() -> None:
    """gte-Qwen2: every token sees the whole text (`is_causal`)."""
    torch.manual_seed(23)
    folder = embedders / "tiny-gte-qwen2"
    config = {
        "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0,
        "auto_map": {"AutoModel": "modeling_qwen.Qwen2Model", "AutoModelForCausalLM": "modeling_qwen.Qwen2ForCausalLM"},
        "bos_token_id": 325, "eos_token_id": 325, "hidden_act": "silu", "hidden_size": hidden, "initializer_range": 0.02,
        "intermediate_size": inner, "is_causal": False, "max_position_embeddings": positions, "max_window_layers": 21,
        "model_type": "qwen2", "num_attention_heads": heads, "num_hidden_layers": layers, "num_key_value_heads": key_value_heads,
        "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 131072, "tie_word_embeddings": False,
        "torch_dtype": "float16", "transformers_version": "4.41.2", "use_cache": True, "use_sliding_window": False,
        "vocab_size": 336,
    }  # fmt: skip
    model = model_of("Qwen2Model", {key: value for key, value in config.items() if key not in ("is_causal", "auto_map")})
    tensors = randomize(model)
    tokenizer = qwen_tokenizer("$A")
    store(folder, config, {f"model.{name}": value for name, value in tensors.items()}, tokenizer, {
        "add_eos_token": True, "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
    })
    sentence_files(folder, "lasttoken", {"query": f"Instruct: {instruction}\nQuery: "})
    end = tokenizer.token_to_id("<|endoftext|>")
    references(folder, tokenizer, last_tokens(model, tokenizer, end, True), end)


def embedding_gemma() -> None:
    """Windows on both sides, two layers behind the pooling, and a token for images that has no embedding."""
    torch.manual_seed(24)
    folder = embedders / "tiny-embeddinggemma"
    count = 7
    config = {
        "_sliding_window_pattern": 6, "architectures": ["Gemma3TextModel"], "attention_bias": False, "attention_dropout": 0.0,
        "attn_logit_softcapping": None, "bos_token_id": 326, "dtype": "float16", "eos_token_id": 325,
        "final_logit_softcapping": None, "head_dim": 16, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": hidden,
        "initializer_range": 0.02, "intermediate_size": 24,
        "layer_types": [f"{'full' if index % 6 == 5 else 'sliding'}_attention" for index in range(count)],
        "max_position_embeddings": positions, "model_type": "gemma3_text", "num_attention_heads": 4, "num_hidden_layers": count,
        "num_key_value_heads": 1, "pad_token_id": 324, "query_pre_attn_scalar": 16, "rms_norm_eps": 1e-06,
        "rope_local_base_freq": 10000.0, "rope_scaling": None, "rope_theta": 1000000.0, "sliding_window": 12,
        "transformers_version": "4.57.0.dev0", "use_bidirectional_attention": True, "use_cache": True, "vocab_size": 328,
    }  # fmt: skip
    model = model_of("Gemma3TextModel", config)
    tensors = randomize(model)
    tokenizer = byte_level(["<pad>", "<eos>", "<bos>", "<unk>"], ["<image_soft_token>"], "<bos> $A <eos>", 329)
    store(folder, config, tensors, tokenizer, {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"})
    drawn = [(torch.randn(outputs, inputs) / math.sqrt(inputs)).half().float() for outputs, inputs in ((64, hidden), (hidden, 64))]
    prompts = {"query": "task: search result | query: ", "document": "title: none | text: "}
    sentence_files(folder, "mean_tokens", prompts, [(weight, None, "linear.Identity") for weight in drawn])
    with_sentence_transformers(folder, tokenizer, ["query", "document"])
    keys = {"pooling_type": 1, "attention.sliding_window": 12, "dense_2_feat_in": hidden, "dense_2_feat_out": 64,
            "dense_3_feat_in": 64, "dense_3_feat_out": hidden}
    plus_one = {name: value + 1 if "norm" in name else value for name, value in tensors.items()}
    write_gguf(embedders / "gguf/tiny-embeddinggemma.gguf", "gemma-embedding", config, plus_one, keys, tokenizer,
               end=("<eos>", True), begin="<bos>", dense=drawn)


def reranker_qwen3() -> None:
    torch.manual_seed(25)
    # The prompt alone is some 200 tokens of this vocabulary.
    config = {**qwen3, "max_position_embeddings": 768, "transformers_version": "4.51.0"}
    model = model_of("Qwen3ForCausalLM", config)
    tensors = {name: value for name, value in randomize(model).items() if name != "lm_head.weight"}
    tokenizer = qwen_tokenizer("$A")
    folder = rerankers / "tiny-qwen3-reranker"
    store(folder, config, tensors, tokenizer, qwen3_tokenizer)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\npipeline_tag: text-ranking\n---\n# Tiny reranker\n")
    yes, no = tokenizer.token_to_id("yes"), tokenizer.token_to_id("no")

    def ids_of(text: str) -> list[int]:
        middle = f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {text}"
        parts = [tokenizer.encode(part, add_special_tokens=False).ids for part in (prefix, middle, suffix)]
        return [*parts[0], *parts[1], *parts[2]]

    documents = [text for text in texts if text]
    ids = [ids_of(text) for text in documents]
    logits, others = [], []
    padding = tokenizer.token_to_id("<|endoftext|>")
    score = model_of("Qwen3ForSequenceClassification", {**model.config.to_dict(), "num_labels": 1, "pad_token_id": padding})
    score.load_state_dict({**tensors, "score.weight": (torch.randn(1, hidden) * 0.3).half().float()})
    with torch.no_grad():
        for row in ids:
            last = model(torch.tensor([row]), use_cache=False).logits[0, -1]
            logits.append(float(last[yes] - last[no]))
            others.append(float(score(torch.tensor([row]), use_cache=False).logits[0, 0]))
    write(folder / "reference.json", {"query": query, "texts": documents, "ids": ids, "logits": logits})

    other = rerankers / "tiny-qwen3-seq-cls"
    labels = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "pad_token_id": padding}
    store(other, {**config, "architectures": ["Qwen3ForSequenceClassification"], **labels}, score.state_dict(), tokenizer, qwen3_tokenizer)
    write(other / "reference.json", {"query": query, "texts": documents, "ids": ids, "logits": others})

    rows = tensors["model.embed_tokens.weight"][[yes, no]]
    keys = {"pooling_type": 4, "classifier.output_labels": ["yes", "no"]}
    prompt = f"{prefix}<Instruct>: {instruction}\n<Query>: {{query}}\n<Document>: {{document}}{suffix}"
    write_gguf(rerankers / "gguf/tiny-qwen3-reranker.gguf", "qwen3", config, tensors, keys, tokenizer,
               end=("<|im_end|>", False), score=rows, rerank=prompt)


def started(path: pathlib.Path, arch: str, config: dict) -> gguf.GGUFWriter:
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(str(path), arch)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    return writer


def target_names(arch: str, config: dict):
    """Returns what gives the name of a tensor in GGUF files."""
    kind = next(key for key, known in gguf.MODEL_ARCH_NAMES.items() if known == arch)
    mapped = gguf.get_tensor_name_map(kind, config["num_hidden_layers"])

    def target_of(name: str) -> str:
        target = mapped.get_name(name, try_suffixes=(".weight", ".bias"))
        assert target is not None, f"{arch} has no name for {name}"
        return target

    return target_of


def finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_gguf(path, arch, config, tensors, keys, tokenizer, end, begin=None, dense=(), score=None, rerank=None) -> None:
    writer = started(path, arch, config)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(float(config["rope_theta"]))
    for key, value in keys.items():
        add = writer.add_array if isinstance(value, list) else writer.add_uint32
        add(f"{arch}.{key}", value)
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    names = sorted(vocabulary, key=vocabulary.get)[: config["vocab_size"]]
    file = json.loads(tokenizer.to_str())
    special = {token["content"]: 3 if token["special"] else 4 for token in file["added_tokens"]}
    names += [f"[PAD{index}]" for index in range(len(names), config["vocab_size"])]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(names)
    writer.add_token_types([special.get(name, 5 if name.startswith("[PAD") else 1) for name in names])
    writer.add_token_merges([" ".join(pair) for pair in file["model"]["merges"]])
    writer.add_eos_token_id(vocabulary[end[0]])
    writer.add_add_eos_token(end[1])
    if begin is not None:
        writer.add_bos_token_id(vocabulary[begin])
    writer.add_add_bos_token(begin is not None)
    if rerank is not None:
        writer.add_chat_template([{"name": "rerank", "template": rerank}])
    target_of = target_names(arch, config)
    for name, tensor in tensors.items():
        target = target_of(name if name.startswith("model.") else f"model.{name}")
        values = tensor.numpy()
        writer.add_tensor(target, values.astype(numpy.float16) if values.ndim > 1 else values)
    for index, weight in enumerate(dense, 2):
        writer.add_tensor(f"dense_{index}.weight", weight.numpy().astype(numpy.float16))
    if score is not None:
        writer.add_tensor("cls.output.weight", score.numpy().astype(numpy.float16))
    finish(writer)


def gguf_encoder(name: str, arch: str, keys: dict, suffix: str = "") -> None:
    """
    An encoder of `text_encoders.py` or `torch_encoders.py` as llama.cpp's converter writes it. Its known answers are those
    of the folder (`withoutBias` where experts have one, which the converter drops).
    """
    folder = embedders / name
    config = json.loads((folder / "config.json").read_text())
    named = {"num_hidden_layers": "n_layer", "hidden_size": "n_embd", "num_attention_heads": "n_head",
             "intermediate_size": "n_inner", "max_position_embeddings": "n_positions", "layer_norm_eps": "layer_norm_epsilon"}
    config |= {key: config[old] for key, old in named.items() if old in config}
    file = json.loads((folder / "tokenizer.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    if suffix == "-apart":
        for tensor in [each for each in tensors if "gated_layers" in each]:
            halves = tensors.pop(tensor).chunk(2)
            tensors |= {tensor.replace("layers.w", f"layers_{half}.w"): values.contiguous() for half, values in zip("wv", halves)}
    writer = started(embedders / f"gguf/{name}{suffix}.gguf", arch, config)
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_token_type_count(config["type_vocab_size"])
    for key, value in keys.items():
        (writer.add_float32 if isinstance(value, float) else writer.add_uint32)(f"{arch}.{key}", value)
    special = {token["content"]: token["id"] for token in file["added_tokens"]}
    write_word_piece(writer, file, special) if file["model"]["type"] == "WordPiece" else write_unigram(writer, file, special)
    target_of = target_names(arch, config)
    for tensor, values in tensors.items():
        if tensor.startswith("pooler.") or tensor.endswith(("position_ids", "experts.bias")):
            continue
        target = target_of(tensor.removeprefix("bert."))
        numbers = values.float().numpy()
        if config["model_type"] == "xlm-roberta" and target == "position_embd.weight":
            # The converter leaves out what is before the first token.
            numbers = numpy.ascontiguousarray(numbers[config["pad_token_id"] + 1 :])
        if tensor.endswith(("experts.mlp.w1", "experts.mlp.w2")):
            numbers = numbers.reshape(config["num_experts"], -1, config["hidden_size"])
            target += ".weight"
        if tensor.endswith("experts.mlp.w2"):
            numbers = numpy.ascontiguousarray(numbers.transpose(0, 2, 1))
        # The converter keeps these as they are.
        is_kept = target.endswith(("token_types.weight", "position_embd.weight", "ffn_gate_inp.weight"))
        is_exact = numbers.ndim > 1 and not is_kept and numpy.array_equal(numbers.astype(numpy.float16).astype(numpy.float32), numbers)
        writer.add_tensor(target, numbers.astype(numpy.float16) if is_exact else numbers)
    finish(writer)


def write_word_piece(writer, file: dict, special: dict[str, int]) -> None:
    vocabulary = file["model"]["vocab"]
    special = {"[UNK]": vocabulary["[UNK]"], **special}
    pieces = sorted(vocabulary, key=vocabulary.get)
    phantom = lambda piece: piece if piece in special else piece[2:] if piece.startswith("##") else f"\u2581{piece}"
    writer.add_tokenizer_model("bert")
    writer.add_token_list([phantom(piece) for piece in pieces])
    writer.add_token_types([3 if piece in special else 1 for piece in pieces])
    for name, add in zip(("[UNK]", "[SEP]", "[PAD]", "[CLS]"), (
        writer.add_unk_token_id, writer.add_sep_token_id, writer.add_pad_token_id, writer.add_bos_token_id,
    )):
        add(special[name])


def write_unigram(writer, file: dict, special: dict[str, int]) -> None:
    pieces = file["model"]["vocab"]
    writer.add_tokenizer_model("t5")
    writer.add_token_list([piece for piece, _score in pieces])
    writer.add_token_scores([score for _piece, score in pieces])
    writer.add_token_types([2 if piece == "<unk>" else 3 if piece in special else 1 for piece, _score in pieces])
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    for name, add in zip(("<s>", "</s>", "<unk>", "<pad>"), (
        writer.add_bos_token_id, writer.add_eos_token_id, writer.add_unk_token_id, writer.add_pad_token_id,
    )):
        add(special[name])


def gguf_encoders() -> None:
    gguf_encoder("tiny-xlm-roberta", "bert", {"pooling_type": 2})
    gguf_encoder("tiny-bert", "bert", {"pooling_type": 1})
    gguf_encoder("tiny-nomic-bert", "nomic-bert", {"pooling_type": 1, "rope.freq_base": 1000.0})
    experts = {"expert_count": 4, "expert_used_count": 2, "moe_every_n_layers": 2}
    gguf_encoder("tiny-nomic-v2", "nomic-bert-moe", {"pooling_type": 1, "rope.freq_base": 10000.0, **experts})
    for suffix in ("", "-apart"):
        gguf_encoder("tiny-jina-v2", "jina-bert-v2", {"pooling_type": 1}, suffix)


def embedding_labse() -> None:
    """A layer with a bias and an activation behind the pooling."""
    torch.manual_seed(26)
    folder = embedders / "tiny-labse"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(embedders / "tiny-bert", folder)
    (folder / "reference.json").unlink()
    drawn = [((torch.randn(24, hidden) / 6).half().float(), (torch.randn(24) / 6).half().float(), "activation.Tanh")]
    sentence_files(folder, "cls_token", {}, drawn)
    (folder / "config_sentence_transformers.json").unlink()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with_sentence_transformers(folder, tokenizer, wanted=short(texts))


def encoder_ntk() -> None:
    """GTE scaled as its published checkpoints are: the base times a factor, and all frequencies smaller."""
    folder = embedders / "tiny-gte"
    scaling = {"type": "ntk", "factor": 8.0}
    model = transformers.GteModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    size = model.config.hidden_size // model.config.num_attention_heads
    steps = torch.arange(0, size, 2).float() / size
    frequencies = 1.0 / ((160000.0 * scaling["factor"]) ** steps) / scaling["factor"] ** (2 / size)
    rotary = [module for module in model.modules() if hasattr(module, "inv_freq")]
    assert rotary
    for module in rotary:
        assert module.inv_freq.shape == frequencies.shape
        module.inv_freq = frequencies
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    vectors = []
    for text in texts:
        with torch.no_grad():
            first = model(torch.tensor([tokenizer.encode(text).ids])).last_hidden_state[0, 0]
        vectors.append(torch.nn.functional.normalize(first, dim=0))
    write(embedders / "gte-ntk.json", {"scaling": scaling, "texts": texts, "vectors": [packed(vector) for vector in vectors]})


if __name__ == "__main__":
    made = [embedding_qwen3, embedding_mistral, embedding_gte, embedding_gemma, reranker_qwen3, embedding_labse, encoder_ntk,
            gguf_encoders]
    for make in made:
        if not sys.argv[1:] or make.__name__ in sys.argv[1:]:
            make()
