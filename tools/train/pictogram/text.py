"""The frozen text encoder (all-MiniLM-L6-v2, Apache-2.0). The product builds its graph and its tokenizer at installation
from the same package (libs/model-store/src/convert/prompt)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

# Token states of a prompt, with [CLS] and [SEP].
WORDS = 32


class MiniLM(nn.Module):
    """[n, t] WordPiece ids (0 fills up) -> [n, 1 + t, 384]: the sentence, then each token; zeros where there is none."""

    def __init__(self, weights: str):
        super().__init__()
        w = {k.replace(".", "_"): v.float() for k, v in load_file(weights).items() if v.is_floating_point()}
        for name, value in w.items():
            self.register_buffer(name, value)

    def lin(self, x, name):
        return F.linear(x, getattr(self, name + "_weight"), getattr(self, name + "_bias"))

    def ln(self, x, name):
        return F.layer_norm(x, (384,), getattr(self, name + "_weight"), getattr(self, name + "_bias"), 1e-12)

    def forward(self, ids):
        n, t = ids.shape
        present = (ids != 0).float()
        bias = (1 - present)[:, None, None, :] * -1e4
        x = F.embedding(ids, self.embeddings_word_embeddings_weight) + self.embeddings_position_embeddings_weight[:t]
        x = self.ln(x + self.embeddings_token_type_embeddings_weight[0], "embeddings_LayerNorm")
        for i in range(6):
            at = f"encoder_layer_{i}_"
            q, k, v = (
                self.lin(x, f"{at}attention_self_{p}").view(n, t, 12, 32).transpose(1, 2)
                for p in ("query", "key", "value")
            )
            w = (q @ k.transpose(2, 3) / 32**0.5 + bias).softmax(-1)
            y = (w @ v).transpose(1, 2).reshape(n, t, 384)
            x = self.ln(x + self.lin(y, at + "attention_output_dense"), at + "attention_output_LayerNorm")
            y = self.lin(F.gelu(self.lin(x, at + "intermediate_dense")), at + "output_dense")
            x = self.ln(x + y, at + "output_LayerNorm")
        x = x * present[..., None]
        mean = x.sum(1) / present.sum(1, keepdim=True)
        sentence = F.normalize(mean, dim=-1) * 384**0.5
        return torch.cat([sentence[:, None], x], 1)


def wordpieces(tokenizer: Tokenizer, text: str):
    return tokenizer.encode(text, add_special_tokens=False).ids


def load_wordpiece(path: str) -> Tokenizer:
    tok = Tokenizer.from_file(path)
    tok.no_padding()
    tok.no_truncation()
    return tok


def whole_words(tokenizer: Tokenizer) -> set[str]:
    """Words that are one WordPiece."""
    return {word for word in tokenizer.get_vocab() if word.isalpha() and word.isascii() and len(word) > 1}
