"""Writes tiny encoders and cross-encoders with random weights, and what the reference implementation makes of some texts.

    python -m venv /tmp/reference && /tmp/reference/bin/pip install torch==2.15.0 transformers==5.23.0 \
        sentence-transformers==6.2.0 safetensors numpy
    /tmp/reference/bin/python tools/reference/text_encoders.py

The folders are in the layout of public repositories, next to the specs that read them:
- `libs/inference/src/families/text-embedding/__fixtures__/<model>/`: encoders; `reference.json` has vectors of texts.
- `libs/inference/src/families/cross-encoder/__fixtures__/<model>/`: `reference.json` has logits of pairs.
"""

import base64
import json
import pathlib
import shutil

import numpy
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig, BertForSequenceClassification, GteConfig, GteForSequenceClassification, GteModel,
    JinaEmbeddingsV3Config, JinaEmbeddingsV3ForSequenceClassification, JinaEmbeddingsV3Model, ModernBertConfig,
    ModernBertForSequenceClassification, ModernBertModel, MPNetConfig, MPNetForSequenceClassification, MPNetModel,
    NomicBertConfig, NomicBertModel,
    PreTrainedTokenizerFast, RobertaConfig, RobertaForSequenceClassification, RobertaModel, XLMRobertaConfig,
    XLMRobertaForSequenceClassification, XLMRobertaModel,
)

root = pathlib.Path(__file__).resolve().parents[2]
families = root / "libs/inference/src/families"
encoders = families / "text-embedding/__fixtures__"
rerankers = families / "cross-encoder/__fixtures__"

texts = [
    "Hello.",
    "The river was happy, and the boat was small.",
    "Crème brûlée, naïve café: déjà vu!",
    "水が好きです",
    "🌊 wave — “quoted” … 3.14159 (42%)",
    "unbelievably untranslatable antidisestablishmentarianism",
    "a b c   d",
    "the river was happy and the boat was small " * 9,
]
query = "Was the river happy?"
positions = 260
sizes = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "initializer_range": 0.3,
}


def packed(vector) -> str:
    return base64.b64encode(numpy.asarray(vector, dtype="<f4").tobytes()).decode()


def write(path: pathlib.Path, value) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=None if "texts" in value else 2) + "\n")


def word_piece(special: dict[str, str]) -> PreTrainedTokenizerFast:
    file = json.loads((encoders / "tiny-bert/tokenizer.json").read_text())
    renamed = {"[PAD]": special["pad"], "[CLS]": special["start"], "[SEP]": special["end"], "[MASK]": special["mask"]}
    pieces = [renamed.get(piece, piece) for piece in file["model"]["vocab"]]
    if special["start"] != "[CLS]":
        # The padding id of this kind of model is 1.
        pieces[0], pieces[1] = pieces[1], pieces[0]
    vocab = {piece: index for index, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return finished(tokenizer, special)


def byte_level(special: dict[str, str]) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = [special[key] for key in ("start", "pad", "end", "mask")]
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=names, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return finished(tokenizer, special)


def unigram(special: dict[str, str]) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    names = [special["start"], special["pad"], special["end"], "<unk>", special["mask"]]
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=names, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return finished(tokenizer, special)


def finished(tokenizer: Tokenizer, special: dict[str, str]) -> PreTrainedTokenizerFast:
    start, end = special["start"], special["end"]
    between = f"{end} {end}" if special["twice"] else end
    second = 0 if special["twice"] else 1
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {between} $B:{second} {end}:{second}",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in (start, end)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token=start, sep_token=end, pad_token=special["pad"],
        mask_token=special["mask"], model_max_length=positions - 4,
    )


bert_words = {"start": "[CLS]", "end": "[SEP]", "pad": "[PAD]", "mask": "[MASK]", "twice": False}
roberta_words = {"start": "<s>", "end": "</s>", "pad": "<pad>", "mask": "<mask>", "twice": True}


def save(folder: pathlib.Path, model, tokenizer) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with torch.no_grad():
        for name, value in model.named_parameters():
            # Norms and biases that do something, and the precision in which the weights are committed.
            if value.ndim == 1:
                value.add_(torch.randn_like(value) * 0.1)
            value.copy_(value.half().float())
    model.save_pretrained(folder)
    file = folder / "model.safetensors"
    save_file({name: value.half() for name, value in load_file(file).items()}, file, metadata={"format": "pt"})
    tokenizer.save_pretrained(folder)
    (folder / "special_tokens_map.json").unlink(missing_ok=True)


def sentence_files(folder: pathlib.Path, pooling: str, size: int, prompts: dict[str, str] | None) -> None:
    write(folder / "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ])
    flags = {"cls": "cls_token", "mean": "mean_tokens", "last": "lasttoken"}
    config = {"word_embedding_dimension": size}
    config |= {f"pooling_mode_{flag}": key == pooling for key, flag in flags.items()}
    write(folder / "1_Pooling/config.json", config)
    if prompts is not None:
        write(folder / "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None})


def encoder(name: str, model, tokenizer, pooling: str, prompts: dict[str, str] | None = None) -> None:
    folder = encoders / name
    save(folder, model.eval(), tokenizer)
    sentence_files(folder, pooling, 32, prompts)
    reference = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
    result = {"texts": texts, "ids": [tokenizer(text)["input_ids"] for text in texts]}
    result["vectors"] = [packed(vector) for vector in reference.encode(texts, batch_size=len(texts), prompt="")]
    for key in prompts or {}:
        result[key] = [packed(vector) for vector in reference.encode(texts, batch_size=4, prompt_name=key)]
    write(folder / "reference.json", result)


def reranker(name: str, model, tokenizer) -> None:
    folder = rerankers / name
    save(folder, model.eval(), tokenizer)
    tokenizer.padding_side = "right"
    batch = tokenizer([query] * len(texts), texts, padding=True, return_tensors="pt", return_token_type_ids=True)
    if name != "tiny-bert-reranker":
        del batch["token_type_ids"]
    with torch.no_grad():
        logits = model(**batch).logits[:, 0]
    ids = [tokenizer(query, text)["input_ids"] for text in texts]
    write(folder / "reference.json", {"query": query, "texts": texts, "ids": ids, "logits": logits.tolist()})


def main() -> None:
    torch.manual_seed(11)
    words, bytes_, pieces = word_piece(bert_words), byte_level(roberta_words), unigram(roberta_words)
    masked = word_piece(roberta_words)
    modern = byte_level(bert_words)
    learned = sizes | {"max_position_embeddings": positions}
    roberta = learned | {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1}
    encoder("tiny-roberta", RobertaModel(RobertaConfig(vocab_size=len(bytes_), **roberta)), bytes_, "mean")
    encoder("tiny-xlm-roberta", XLMRobertaModel(XLMRobertaConfig(vocab_size=len(pieces), **roberta)), pieces, "cls")
    mpnet = MPNetConfig(vocab_size=len(masked), pad_token_id=1, **learned)
    encoder("tiny-mpnet", MPNetModel(mpnet), masked, "mean")
    nomic = NomicBertConfig(vocab_size=len(words), **learned)
    prompts = {"query": "search_query: ", "document": "search_document: "}
    encoder("tiny-nomic-bert", NomicBertModel(nomic), words, "mean", prompts)
    gte = GteConfig(vocab_size=len(words), pad_token_id=0, type_vocab_size=1, **learned)
    encoder("tiny-gte", GteModel(gte), words, "cls")
    rope = {"full_attention": {"rope_type": "default", "rope_theta": 160000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
    ids = {f"{key}_token_id": modern.convert_tokens_to_ids(bert_words[word])
           for key, word in {"pad": "pad", "cls": "start", "bos": "start", "sep": "end", "eos": "end"}.items()}
    shape = learned | {"num_hidden_layers": 3, "global_attn_every_n_layers": 2, "local_attention": 8}
    config = ModernBertConfig(vocab_size=len(modern), rope_parameters=rope, **ids, **shape)
    encoder("tiny-modernbert", ModernBertModel(config), modern, "cls")

    bert = BertConfig(vocab_size=len(words), num_labels=1, **learned)
    reranker("tiny-bert-reranker", BertForSequenceClassification(bert), words)
    reranker("tiny-roberta-reranker", RobertaForSequenceClassification(
        RobertaConfig(vocab_size=len(bytes_), num_labels=1, **roberta)), bytes_)
    reranker("tiny-xlm-roberta-reranker", XLMRobertaForSequenceClassification(
        XLMRobertaConfig(vocab_size=len(pieces), num_labels=1, **roberta)), pieces)
    config = ModernBertConfig(
        vocab_size=len(modern), rope_parameters=rope, num_labels=1, classifier_pooling="mean", **ids, **shape)
    reranker("tiny-modernbert-reranker", ModernBertForSequenceClassification(config), modern)
    mpnet.num_labels = gte.num_labels = 1
    reranker("tiny-mpnet-reranker", MPNetForSequenceClassification(mpnet), masked)
    reranker("tiny-gte-reranker", GteForSequenceClassification(gte), words)
    torch.manual_seed(17)
    jina = JinaEmbeddingsV3Config(vocab_size=len(pieces), num_labels=1, **roberta)
    encoder("tiny-jina-v3", JinaEmbeddingsV3Model(jina), pieces, "mean")
    reranker("tiny-jina-v3-reranker", JinaEmbeddingsV3ForSequenceClassification(jina), pieces)


if __name__ == "__main__":
    main()
