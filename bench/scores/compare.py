#!/usr/bin/env python3
"""Scores of lm-evaluation-harness through the API beside those of the same weights in the reference library.

Needs `pip install "lm_eval[api]" torch transformers gguf accelerate`, a platform that serves the model, and its GGUF
file:

    SLUICE_URL=http://127.0.0.1:3000 SLUICE_API_KEY=... python3 bench/scores/compare.py \
        --model smollm2-135m-instruct --gguf SmolLM2-135M-Instruct.Q4_1.gguf

Prints the accuracy of both, and for how many questions they choose the same answer.
"""

import argparse
import os
import tempfile
from pathlib import Path

from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager
from transformers import AutoTokenizer

HERE = Path(__file__).resolve().parent
TASK = "plain_facts"


def main():
    options = read_options()
    os.chdir(HERE)  # The task names its questions by a relative path.
    with tempfile.TemporaryDirectory() as folder:
        weights = {"pretrained": str(options.gguf.parent), "gguf_file": options.gguf.name}
        AutoTokenizer.from_pretrained(options.gguf.parent, gguf_file=options.gguf.name).save_pretrained(folder)
        served = evaluate(
            "local-completions",
            model=options.model,
            base_url=f"{os.environ['SLUICE_URL']}/api/v1/completions",
            tokenizer=folder,
            tokenizer_backend="huggingface",
            num_concurrent=2,
            max_retries=2,
        )
        reference = evaluate("hf", **weights, dtype="float32", device="cpu")
    questions = len(reference["choices"])
    same = sum(served["choices"][number] == reference["choices"][number] for number in range(questions))
    print(f"{options.model}: {questions} questions, the same choice for {same}")
    for name, result in (("served", served), ("reference", reference)):
        print(f"  {name:9} acc {result['acc']:.4f}  acc_norm {result['acc_norm']:.4f}")
    print(f"  largest difference of a log-probability {largest_difference(served, reference):.4f}")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="id of the served model")
    parser.add_argument("--gguf", required=True, type=lambda path: Path(path).resolve(), help="the file it was made of")
    return parser.parse_args()


def evaluate(kind, **arguments):
    os.environ.setdefault("OPENAI_API_KEY", os.environ["SLUICE_API_KEY"])
    tasks = TaskManager(include_path=str(HERE), include_defaults=False)
    result = simple_evaluate(
        model=kind, model_args=arguments, tasks=[TASK], task_manager=tasks, batch_size=1, log_samples=True
    )
    samples = sorted(result["samples"][TASK], key=lambda sample: sample["doc_id"])
    scores = [[float(response[0]) for response in sample["filtered_resps"]] for sample in samples]
    metrics = result["results"][TASK]
    return {
        "acc": metrics["acc,none"],
        "acc_norm": metrics["acc_norm,none"],
        "scores": scores,
        "choices": [row.index(max(row)) for row in scores],
    }


def largest_difference(served, reference):
    pairs = zip(served["scores"], reference["scores"], strict=True)
    return max(abs(a - b) for row, other in pairs for a, b in zip(row, other, strict=True))


if __name__ == "__main__":
    main()
