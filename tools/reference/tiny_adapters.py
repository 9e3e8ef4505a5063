"""Writes LoRA adapters for tiny decoders, as PEFT stores them, and what transformers computes with them in float32.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install torch==2.15.0 transformers==5.24.0 peft==0.21.2 gguf==0.19.0
    /tmp/reference/bin/python tools/reference/tiny_adapters.py

The bases are models of `tiny_checkpoints.py` and `tiny_decoders.py`. Each folder of
`libs/inference/src/families/decoder/__fixtures__/adapters` holds the adapters of one base, in a folder each, and
`expected.json`: prompts with the logits after the prompt and after the last of some greedy tokens, by adapter, and of the
base alone under the name `base`.
"""

import json
import pathlib
import shutil
import sys

import peft
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

root = pathlib.Path(__file__).resolve().parents[2]
checkpoints = root / "libs/model-store/src/convert/safetensors/__fixtures__"
files = root / "libs/inference/src/families/decoder/__fixtures__/architectures"
folder = root / "libs/inference/src/families/decoder/__fixtures__/adapters"
steps = 6

attention = ["q_proj", "k_proj", "v_proj", "o_proj"]
linear = [*attention, "gate_proj", "up_proj", "down_proj"]
fused = ["o_proj", "gate_up_proj", "down_proj"]

# By base: where it lies, and the settings of each adapter.
bases = {
    "llama": ("safetensors", {
        "all": dict(r=4, lora_alpha=8, target_modules=linear),
        "some": dict(r=8, lora_alpha=16, use_rslora=True, target_modules=["q_proj", "v_proj"], layers_to_transform=[1]),
    }),
    "llama-gguf": ("gguf", {
        "all": dict(r=4, lora_alpha=8, target_modules="all-linear"),
        "patterns": dict(r=2, lora_alpha=4, target_modules=["q_proj", "k_proj", "down_proj"],
                         rank_pattern={"layers.1.self_attn.q_proj": 5}, alpha_pattern={"down_proj": 12}),
    }),
    "qwen2": ("safetensors", {
        "attention": dict(r=3, lora_alpha=6, target_modules=attention),
        "mlp": dict(r=4, lora_alpha=4, target_modules=["gate_proj", "up_proj", "down_proj"]),
    }),
    "phi3": ("safetensors", {"all": dict(r=4, lora_alpha=8, target_modules=["qkv_proj", *fused])}),
    "glm4": ("safetensors", {"all": dict(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "v_proj", *fused])}),
    "command-r": ("safetensors", {"all": dict(r=4, lora_alpha=8, target_modules=linear)}),
    "gemma2": ("safetensors", {"all": dict(r=4, lora_alpha=8, target_modules=linear)}),
    "gemma3-sees": ("safetensors", {
        "all": dict(r=2, lora_alpha=4, target_modules=r".*language_model\..*\.(?:q_proj|o_proj|down_proj)"),
    }),
    "qwen3-moe": ("safetensors", {"attention": dict(r=4, lora_alpha=8, target_modules=attention)}),
}  # fmt: skip


def load(name: str, kind: str) -> torch.nn.Module:
    settings = dict(dtype=torch.float32, attn_implementation="eager")
    if kind == "gguf":
        model = AutoModelForCausalLM.from_pretrained(files, gguf_file=f"{name.removesuffix('-gguf')}.gguf", **settings)
    elif name == "gemma3-sees":
        from transformers import Gemma3ForConditionalGeneration

        model = Gemma3ForConditionalGeneration.from_pretrained(checkpoints / name, **settings)
    else:
        model = AutoModelForCausalLM.from_pretrained(checkpoints / name, **settings)
    return model.eval()


def prompts(name: str, kind: str) -> list[list[int]]:
    if kind == "gguf":
        return [text["promptIds"] for text in json.loads((files / "expected.json").read_text())["llama"]["texts"][:2]]
    known = json.loads((checkpoints / name / "expected.json").read_text())
    return [result["ids"] for result in known["results"]]


@torch.no_grad()
def run(model: torch.nn.Module, ids: list[int]) -> dict:
    rounded = lambda values: [round(value, 6) for value in values.tolist()]
    first = last = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
    tokens = []
    for _ in range(steps):
        tokens.append(int(last.argmax()))
        last = model(input_ids=torch.tensor([ids + tokens]), use_cache=False).logits[0, -1]
    return dict(promptIds=ids, tokens=tokens, first=rounded(first), last=rounded(last))


@torch.no_grad()
def randomize(model: torch.nn.Module, seed: int) -> None:
    torch.manual_seed(seed)
    for name, value in model.named_parameters():
        if "lora_" in name:
            noise = torch.randn_like(value) * (0.5 / value.shape[-1] ** 0.5 if "lora_A" in name else 0.4)
            value.copy_(noise.half().float())


def make(name: str) -> None:
    kind, adapters = bases[name]
    target = folder / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    texts = prompts(name, kind)
    results = {"base": [run(load(name, kind), ids) for ids in texts]}
    for seed, (adapter, settings) in enumerate(adapters.items()):
        model = get_peft_model(load(name, kind), LoraConfig(task_type="CAUSAL_LM", **settings)).eval()
        randomize(model, seed + 1)
        results[adapter] = [run(model, ids) for ids in texts]
        moved = max(abs(a - b) for a, b in zip(results[adapter][0]["first"], results["base"][0]["first"]))
        assert moved > 0.05, f"{name}/{adapter} changes next to nothing"
        # One adapter in half precision, as many are published.
        (model.half() if seed == 1 else model).save_pretrained(target / adapter)
        (target / adapter / "README.md").unlink(missing_ok=True)
        config = target / adapter / "adapter_config.json"
        values = json.loads(config.read_text())
        values["base_model_name_or_path"] = f"tiny/{name}"
        values["target_modules"] = sorted(values["target_modules"]) if isinstance(values["target_modules"], list) else values["target_modules"]
        config.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")
        print(name, adapter, f"{moved:.2f}")
    made = dict(torch=torch.__version__.split("+")[0], peft=peft.__version__)
    lines = [f' "{key}": {json.dumps(value, separators=(",", ":"))}' for key, value in dict(madeWith=made, **results).items()]
    (target / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


for each in sys.argv[1:] or bases:
    make(each)
