"""Shared by the tiny diffusion models: a tiny CLIP with random weights."""

import json
import os

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

LENGTH = 16


def clip_tokenizer(folder):
    """Trains a CLIP-style vocabulary on a few words and writes it into the folder."""
    corpus = ["a red bird sits on a branch in the rain", "the bird's nest is old, 42 years", "painting of a river"]
    learner = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    learner.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    learner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, end_of_word_suffix="</w>", show_progress=False
    )
    learner.train_from_iterator(corpus * 4, trainer)
    learned = json.loads(learner.to_str())["model"]
    merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in learned["merges"]]
    letters = sorted(alphabet)
    words = ["".join(pair) for pair in merges]
    tokens = list(
        dict.fromkeys([*letters, *(letter + "</w>" for letter in letters), *words, "<|startoftext|>", "<|endoftext|>"])
    )
    vocabulary = {token: index for index, token in enumerate(tokens)}
    os.makedirs(folder)
    with open(os.path.join(folder, "vocab.json"), "w") as file:
        json.dump(vocabulary, file, ensure_ascii=False)
    with open(os.path.join(folder, "merges.txt"), "w") as file:
        file.write("#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in merges))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({"tokenizer_class": "CLIPTokenizer", "model_max_length": LENGTH, "pad_token": "<|endoftext|>"}, file)
    try:
        tokenizer = CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=LENGTH)
    except TypeError:
        tokenizer = CLIPTokenizer.from_pretrained(folder)
    return tokenizer, vocabulary


def clip_encoder(vocabulary, width=16):
    return CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(vocabulary), hidden_size=width, intermediate_size=2 * width, num_hidden_layers=2,
            num_attention_heads=2, max_position_embeddings=LENGTH, bos_token_id=vocabulary["<|startoftext|>"],
            eos_token_id=vocabulary["<|endoftext|>"],
        )
    ).eval()
