"""Writes reference.json in this folder: what the reference tokenizers make of 5,000 texts of many scripts and of code.

    pip install tokenizers sentencepiece && python make-fixtures.py

The texts follow from `alphabets.json` and a seed, here as in `reference.spec.ts`. One vocabulary is trained without any
split, so that its merges cross every border that a rule may draw. Each rule is built from the parts that the published
`tokenizer.json` of its family has. Expected ids are stored as a hash of every hundred texts.
"""

import hashlib
import io
import json
import pathlib
import tempfile

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

folder = pathlib.Path(__file__).parent
alphabets = json.loads((folder / "alphabets.json").read_text())
TEXTS = 5000
PER_HASH = 100


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) % limit


def text_of(random, count=len(alphabets)):
    parts = []
    for _ in range(1 + random.below(10)):
        alphabet = alphabets[random.below(count)]
        if "words" in alphabet:
            parts.append(alphabet["words"][random.below(len(alphabet["words"]))])
            continue
        for _ in range(1 + random.below(5)):
            first, last = alphabet["ranges"][random.below(len(alphabet["ranges"]))]
            parts.append(chr(first + random.below(last - first + 1)))
    return "".join(parts)


def texts(seed, count):
    random = Random(seed)
    return [text_of(random) for _ in range(count)]


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def byte_level(use_regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def gpt4(digits):
    return split(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + digits
        + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
HAN = r"&&[^\p{Han}]]"
START = r"[^\r\n\p{L}\p{N}]?"
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


def cased(ending, upper=UPPER, lower=LOWER):
    return f"{START}{upper}*{lower}+{ending}|{START}{upper}+{lower}*{ending}"


SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
ASIAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
WESTERN = (
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af"
    "\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5"
    "\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba"
    "\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45"
    "\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe"
    "\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102"
    "\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
    "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3"
    "\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06"
    "\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3"
    "\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df"
    "\U0001e900-\U0001e943"
)
DIGITS = pre_tokenizers.Digits(individual_digits=True)
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"
DEFAULT = [
    split(r"[\p{P}$+<=>^~|]+"),
    split(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"),
    split(r"\p{N}+"),
    split("[0-9][0-9][0-9]"),
    byte_level(),
]

rules = {
    "default": DEFAULT,
    "gpt-2": [byte_level(True)],
    "mpt": [byte_level(True)],
    "llama-bpe": [gpt4("{1,3}"), byte_level()],
    "dbrx": [gpt4("{1,3}"), byte_level()],
    "qwen2": [gpt4(""), byte_level()],
    "qwen35": [
        split(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + SPACES
        ),
        byte_level(),
    ],
    "hunyuan": [gpt4(""), byte_level()],
    "gpt-4o": [split(cased(ENDING) + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES), byte_level()],
    "tekken": [split(cased("") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES), byte_level()],
    "kimi-k2": [
        split(
            r"[\p{Han}]+|" + cased(ENDING, UPPER[:-1] + HAN, LOWER[:-1] + HAN)
            + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
        ),
        byte_level(),
    ],
    "smollm": [DIGITS, byte_level(True)],
    "command-r": [DIGITS, byte_level(True)],
    "falcon": [pre_tokenizers.Punctuation("contiguous"), byte_level(True), split("[0-9][0-9][0-9]")],
    "deepseek-llm": [
        split("[\r\n]"),
        split(rf"\s?[{WESTERN}]+"),
        split("\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"),
        split(r"\s+$"),
        split(ASIAN),
        DIGITS,
        byte_level(),
    ],
    "deepseek-coder": [split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split(ASIAN), DIGITS, byte_level()],
    "deepseek-v3": [
        split(r"\p{N}{1,3}"),
        split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
        split(
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
            r" ?[\p{P}\p{S}]+[\r\n]*|" + SPACES
        ),
        byte_level(),
    ],
    "seed-coder": [
        split(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|" + SPACES
        ),
        byte_level(),
    ],
    "bailingmoe": [
        split(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
        ),
        byte_level(),
    ],
    "bloom": [split(BLOOM), byte_level()],
    "viking": [split(BLOOM), DIGITS, byte_level()],
}
canonical = {"mpt", "qwen2", "qwen35", "command-r"}
whole_words = {"llama-bpe", "gpt-4o", "tekken", "kimi-k2"}


added = [("<|end|>", True), ("<tool>", False)]
# Tokens that no merge makes.
whole = ["answer", "Zürich", "XMLHttpRequest", "stone"]


def trained_bytes():
    """A vocabulary whose merges cross words, with words that no merge makes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = byte_level()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=1400, initial_alphabet=alphabet, show_progress=False, max_token_length=24, min_frequency=2
    )
    unseen = whole + [content for content, _ in added]
    sources = texts(1, 4000)
    for word in unseen:
        sources = [text.replace(word, "") for text in sources]
    tokenizer.train_from_iterator(sources, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    extra = [byte_level().pre_tokenize_str(word)[0][0] for word in whole]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    return tokens + extra, merges


def hashes(encode):
    lines = [" ".join(map(str, encode(text))) for text in texts(2, TEXTS)]
    parts = [lines[start : start + PER_HASH] for start in range(0, TEXTS, PER_HASH)]
    return [hashlib.sha256("\n".join(part).encode()).hexdigest()[:12] for part in parts]


tokens, merges = trained_bytes()
expected = {}
for name, parts in rules.items():
    vocabulary = {token: index for index, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    model = models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=name in whole_words)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC() if name in canonical else None
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    for content, special in added:
        tokenizer.add_tokens([AddedToken(content, special=special, normalized=False)])
    expected[name] = hashes(lambda text: tokenizer.encode(text).ids)


def trained_pieces(byte_fallback, prefix, symbols):
    output = io.BytesIO()
    # Of the scripts, only the first are in the vocabulary.
    random = Random(3)
    sources = [text_of(random, 8) for _ in range(4000)]
    lines = [line for text in sources for line in text.splitlines() if line.strip()]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=output, model_type="bpe", vocab_size=1500,
        byte_fallback=byte_fallback, add_dummy_prefix=prefix, remove_extra_whitespaces=False,
        normalization_rule_name="identity", user_defined_symbols=symbols, character_coverage=1.0,
        allow_whitespace_only_pieces=True, split_digits=True, num_threads=1,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=output.getvalue())


TYPES = [("is_unknown", 2), ("is_control", 3), ("is_unused", 5), ("is_byte", 6)]
pieces = {}
for name, options in {
    "bytes": (True, True, []),
    "unknown": (False, True, []),
    "gemma": (True, False, ["\n\n", "\u2581\u2581\u2581", "\u2581\u2581", "<table>"]),
}.items():
    model = trained_pieces(*options)
    size = model.get_piece_size()
    kinds = [next((kind for test, kind in TYPES if getattr(model, test)(index)), 1) for index in range(size)]
    # The file format marks the symbols that the trainer was given.
    kinds = [4 if model.id_to_piece(index) in options[2] else kind for index, kind in enumerate(kinds)]
    pieces[name] = {
        "pieces": [model.id_to_piece(index) for index in range(size)],
        "scores": [round(model.get_score(index), 3) for index in range(size)],
        "types": kinds,
        "prefix": options[1],
        "expected": hashes(model.encode),
    }

content = {"bytes": {"tokens": tokens, "merges": merges, "expected": expected}, "pieces": pieces}
(folder / "reference.json").write_text(json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n")
