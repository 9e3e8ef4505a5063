#!/usr/bin/env bash
# Builds the images with Docker, starts api, ops and worker with their stores as docker/compose.yaml says, and asks one chat
# completion. `npm run nightly -- images` calls it where Docker runs, and docker/prove.sh elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."

export COMPOSE_FILE=docker/compose.yaml COMPOSE_PROJECT_NAME=sluice-images SLUICE_MODELS=stories-15m
export SLUICE_PORT=${SLUICE_PORT:-53000}
origin=http://127.0.0.1:$SLUICE_PORT
again=(--silent --show-error --fail-with-body --retry 60 --retry-delay 2 --retry-all-errors)

stop() {
  local code=$?
  if [ $code != 0 ]; then docker compose ps --all && docker compose logs --no-color --tail 100; fi
  docker compose down --volumes --timeout 40
  exit $code
}
trap stop EXIT

docker build --file docker/worker-vulkan.Dockerfile --tag sluice-worker-vulkan:0.1.0 .
docker compose up --build --detach api ops worker models
curl "${again[@]}" --output /dev/null "$origin/docs"
docker compose exec -T api sluice accounts create me
docker compose exec -T api sluice credits grant 1
key=$(docker compose exec -T api sluice keys create --json | grep -o 'slk_[A-Za-z0-9_-]*' | head -1)
# The model may still be pulled and loaded.
curl "${again[@]}" "$origin/api/v1/chat/completions" -H "authorization: Bearer $key" -H 'content-type: application/json' \
  -d '{"model":"stories-15m","max_completion_tokens":24,"messages":[{"role":"user","content":"Once upon a time"}]}' |
  tee /dev/stderr | grep -q '"choices"'
