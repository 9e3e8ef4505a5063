#!/usr/bin/env bash
# Tests the Dockerfiles on a machine without a container engine or an image registry. Builds them with buildah (chroot
# isolation) on base images made by debootstrap. Then runs the images the way a cluster does, as user 10001 with a read-only
# root: migrate, sync, pull, api, ops and a worker, with the PostgreSQL and Redis of this machine, and one chat completion.
#
#   apt-get install buildah debootstrap redis-server      needs initdb and pg_ctl of PostgreSQL on the PATH, too
#   docker/prove.sh [work folder] [steps]                  as root; needs 20 GB and about 15 minutes on two idle cores
#   steps, default all: "bases api worker sizes run cuda vulkan"
#
# Substitutes: the base images (Debian from debootstrap; Node and npm from this machine) and the CUDA base image and libraries.
# worker-cuda is built with empty files instead of the libraries, which tests its layers but not its GPU support.
set -euo pipefail
cd "$(dirname "$0")/.."

work=${1:-$(mktemp -d /var/tmp/sluice-images.XXXXXX)}
mkdir -p "$work"
# Nothing is exported above this line: npm in the containers must not inherit it.
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-overlay}
storage=(--root "$work/storage" --runroot "$work/run")
b() { command buildah "${storage[@]}" "$@"; }

say() { printf '\n==== %s\n' "$*"; }

bases() {
  if b inspect --type image localhost/sluice-node >/dev/null 2>&1; then return; fi
  say 'base images'
  [ -d "$work/debian" ] || debootstrap --variant=minbase bookworm "$work/debian" >"$work/debootstrap.log"
  local debian node
  # Leave out what the official Debian slim images leave out, so that sizes are comparable.
  printf 'path-exclude %s\n' '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*' '/usr/share/info/*' \
    >"$work/debian/etc/dpkg/dpkg.cfg.d/slim"
  printf 'path-include /usr/share/doc/*/copyright\n' >>"$work/debian/etc/dpkg/dpkg.cfg.d/slim"
  find "$work/debian/usr/share/doc" -type f ! -name copyright -delete
  rm -rf "$work"/debian/usr/share/{man,locale,info}/* "$work"/debian/var/cache/apt/* "$work"/debian/var/lib/apt/lists/*
  debian=$(b from scratch)
  b add -q "$debian" "$work/debian" /
  b commit -q "$debian" localhost/sluice-debian
  b rm "$debian" >/dev/null
  node=$(b from localhost/sluice-debian)
  b copy -q "$node" "$(readlink -f "$(command -v node)")" /usr/local/bin/node
  b copy -q "$node" "$(dirname "$(readlink -f "$(command -v npm)")")/.." /usr/local/lib/node_modules/npm
  # The npm registry of this machine may use a private CA.
  b copy -q "$node" /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
  b run "$node" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
  b config --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$node"
  b commit -q "$node" localhost/sluice-node
  b rm "$node" >/dev/null
}

build() {
  local name=$1
  shift
  say "docker/$name.Dockerfile"
  b build --layers --format docker --file "docker/$name.Dockerfile" --tag "localhost/sluice-$name" \
    --build-arg NODE_IMAGE=localhost/sluice-node --build-arg BASE_IMAGE=localhost/sluice-debian "$@" . \
    >"$work/build-$name.log" 2>&1 || { tail -30 "$work/build-$name.log"; return 1; }
}

# Runs a program of an image as user 10001 with a read-only root, no capabilities and only the given variables.
#   inside <image> <folder for /var/lib/sluice> <NAME=value…> -- <arguments of node…>
inside() {
  local root=${roots[$1]} home=$2 variables=()
  shift 2
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  shift
  # A background shell sets EXEC=exec: the process then replaces the shell, so `$!` is its id and signals reach it.
  ${EXEC:-} unshare --mount --propagation private -- bash -c '
    root=$1 home=$2; shift 2
    mount --bind "$root" "$root" && mount -o remount,bind,ro "$root"
    mount -t proc proc "$root/proc" && mount -t tmpfs tmpfs "$root/tmp" && mount --rbind /dev "$root/dev"
    mount --bind "$home" "$root/var/lib/sluice"
    mount --bind "$0/etc" "$root/etc/ssl/certs"
    mount --bind "$0/resolv.conf" "$root/etc/resolv.conf"
    exec chroot --userspec=10001:10001 --groups= "$root" /usr/bin/env -i "$@"
  ' "$work" "$root" "$home" PATH=/usr/local/bin:/usr/bin:/bin HOME=/var/lib/sluice NODE_ENV=production TINI_SUBREAPER=1 \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "${variables[@]}" \
    sh -c 'cd /app && exec tini -- node "$@"' sh "$@"
}

declare -A roots
pids=()
stop_all() {
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  pids=()
}

# Waits until a process is ready; fails after two minutes.
until_ready() {
  local name=$1 url=$2
  for _ in $(seq 240); do
    if curl --silent --fail "$url" >/dev/null; then return; fi
    sleep 0.5
  done
  echo "$name is not ready:"
  tail -20 "$work/$name.log"
  return 1
}

stores() {
  say 'PostgreSQL and Redis of this machine'
  local data=$work/postgres
  mkdir -p "$data" "$work/redis" && chown 65534:65534 "$data" && chmod 711 "$work"
  local as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  [ -f "$data/PG_VERSION" ] || "${as[@]}" initdb --pgdata="$data" --username=sluice --auth=trust >"$work/initdb.log"
  "${as[@]}" pg_ctl --pgdata="$data" --silent --wait --log="$data/log" \
    --options="-c listen_addresses=127.0.0.1 -c port=55432 -c unix_socket_directories=$data" start
  redis-server --port 56379 --bind 127.0.0.1 --appendonly yes --maxmemory-policy noeviction --dir "$work/redis" \
    >"$work/redis.log" &
  pids+=($!)
}

stop_stores() {
  stop_all
  setpriv --reuid=65534 --regid=65534 --clear-groups pg_ctl --pgdata="$work/postgres" --silent --mode=fast stop || true
}

run() {
  mkdir -p "$work"/{etc,api,ops,worker}
  cp /etc/ssl/certs/ca-certificates.crt "$work/etc/"
  cp -L /etc/resolv.conf "$work/resolv.conf"
  for name in api worker; do
    # Mounted only while this step runs.
    roots[$name]=$(b mount "$(b from --pull-never "localhost/sluice-$name")")
    mkdir -p "${roots[$name]}/etc/ssl/certs" && touch "${roots[$name]}/etc/resolv.conf"
  done
  trap 'stop_stores; b rm --all >/dev/null' EXIT
  stores

  # Secrets as files, the way an orchestrator mounts them.
  for name in api ops worker; do
    mkdir -p "$work/$name/secrets"
    printf 'redis://127.0.0.1:56379\n' >"$work/$name/secrets/redis-url"
    printf '%064d\n' 7 >"$work/$name/secrets/queue-key"
  done
  local key
  key=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
  for name in api ops; do
    printf 'postgresql://sluice@127.0.0.1:55432/postgres\n' >"$work/$name/secrets/database-url"
    printf '%s\n' "$key" >"$work/$name/secrets/secret-key"
  done
  chown -R 10001:10001 "$work"/{api,ops,worker}
  local secrets=/var/lib/sluice/secrets
  local queue=REDIS_URL_FILE=$secrets/redis-url database=DATABASE_URL_FILE=$secrets/database-url
  local seal=SLUICE_QUEUE_KEY_FILE=$secrets/queue-key
  local trusted=("$queue" "$seal" "$database" "SLUICE_SECRET_KEY_FILE=$secrets/secret-key" "SLUICE_HOME=/var/lib/sluice")

  say 'sluice migrate, sluice models sync, sluice models pull'
  inside api "$work/api" "$database" -- bin/sluice.mjs migrate
  inside api "$work/api" "$database" -- bin/sluice.mjs models sync
  inside worker "$work/worker" SLUICE_HOME=/var/lib/sluice -- bin/sluice.mjs models pull stories-15m

  say 'api, ops and worker'
  (EXEC=exec && inside api "$work/api" "${trusted[@]}" HOST=127.0.0.1 PORT=53000 SLUICE_API_HEALTH_PORT=53003 -- dist/apps/api/src/main.js) \
    >"$work/api.log" 2>&1 &
  pids+=($!)
  local api=$!
  (EXEC=exec && inside api "$work/ops" "${trusted[@]}" SLUICE_OPS_PORT=53002 -- dist/apps/ops/src/main.js) \
    >"$work/ops.log" 2>&1 &
  pids+=($!)
  local ops=$!
  (EXEC=exec && inside worker "$work/worker" "$queue" "$seal" SLUICE_HOME=/var/lib/sluice SLUICE_MODELS=stories-15m \
    SLUICE_WORKER_PORT=53001 SLUICE_PROVIDERS=cpu -- dist/apps/worker/src/main.js) >"$work/worker.log" 2>&1 &
  pids+=($!)
  local worker=$!
  until_ready api http://127.0.0.1:53003/health/ready
  until_ready ops http://127.0.0.1:53002/health/ready
  until_ready worker http://127.0.0.1:53001/health/ready
  # Runs the image's own health check inside the image.
  inside api "$work/api" -- docker/healthcheck.mjs 53003

  say 'an account, a key, a chat completion'
  inside api "$work/api" "$database" -- bin/sluice.mjs accounts create me
  inside api "$work/api" "$database" -- bin/sluice.mjs credits grant 1
  local api_key response
  api_key=$(inside api "$work/api" "$database" -- bin/sluice.mjs keys create --json | grep -o 'slk_[A-Za-z0-9_-]*' | head -1)
  for _ in $(seq 60); do
    response=$(curl --silent http://127.0.0.1:53000/api/v1/chat/completions -H "authorization: Bearer $api_key" \
      -H 'content-type: application/json' \
      -d '{"model":"stories-15m","max_completion_tokens":24,"messages":[{"role":"user","content":"Once upon a time"}]}')
    if grep -q '"choices"' <<<"$response"; then break; fi
    sleep 1
  done
  echo "$response"
  grep -q '"choices"' <<<"$response"

  say 'users, capabilities and write access'
  for name in api ops worker; do
    local pid=${!name}
    # $pid is tini; the program is its child.
    local child
    child=$(pgrep -P "$pid" | head -1)
    grep -E '^(Uid|CapEff|CapPrm)' "/proc/$child/status" | tr '\n' ' '
    if nsenter --target "$child" --mount --root setpriv --reuid=10001 --clear-groups sh -c ': > /app/written' 2>/dev/null; then
      echo "$name was able to write to /app"
      return 1
    fi
    echo "$name: cannot write to /app"
  done

  say 'SIGTERM'
  for name in api ops worker; do
    kill -TERM "${!name}"
    wait "${!name}" && echo "$name exited with 0"
  done
  stop_stores
  trap - EXIT
}

sizes() {
  say 'sizes'
  b images --format '{{.Name}} {{.Size}}' | grep sluice-
  for name in api worker; do
    local container root
    container=$(b from --pull-never "localhost/sluice-$name")
    root=$(b mount "$container")
    echo "$name: $(du -sm "$root" | cut -f1) MB on disk; packages $(du -sm "$root/app/node_modules" | cut -f1) MB, program $(du -sm "$root/app/dist" | cut -f1) MB"
    b rm "$container" >/dev/null
  done
}


cuda() {
  local libraries=docker/cuda-libraries
  # Empty files instead of the libraries: this tests the layers, not the CUDA provider.
  trap 'rm -f docker/cuda-libraries/*.so' EXIT
  touch $libraries/libonnxruntime_providers_{shared,cuda}.so
  build worker-cuda --build-arg CUDA_LIBRARIES=folder
  rm -f $libraries/*.so
  trap - EXIT
}

for step in ${2:-bases api worker sizes run cuda vulkan}; do
  case $step in
    bases | sizes | run | cuda) "$step" ;;
    api | worker) build "$step" ;;
    vulkan) build worker-vulkan ;;
    *) echo "Unknown step: $step" && exit 2 ;;
  esac
done
say 'done'
