#!/usr/bin/env bash
# Proves the Dockerfiles where no engine and no registry of images can be had: builds them with buildah (chroot isolation) on
# bases that debootstrap makes, then runs what they hold as a cluster would, as user 10001 on a root that cannot be written:
# migrate, sync, pull, api, ops and a worker, on a PostgreSQL and a Redis of this machine, and asks one question.
#
#   apt-get install buildah debootstrap redis-server      and initdb, pg_ctl of a PostgreSQL on the PATH
#   docker/prove.sh [folder to work in] [steps]            as root; 20 GB, on two idle cores some 15 minutes
#   steps, default all: "bases api worker sizes run cuda"
#
# What it stands in for: the base images (Debian by debootstrap; Node and npm of this machine) and the CUDA base and libraries,
# which come from elsewhere: worker-cuda is built with empty files in their place, so its layers are proven and its GPU is not.
set -euo pipefail
cd "$(dirname "$0")/.."

work=${1:-$(mktemp -d /var/tmp/sluice-images.XXXXXX)}
mkdir -p "$work"
# Not exported before: npm in the containers must not inherit any of it.
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-overlay}
storage=(--root "$work/storage" --runroot "$work/run")
b() { command buildah "${storage[@]}" "$@"; }

say() { printf '\n==== %s\n' "$*"; }

bases() {
  if b inspect --type image localhost/sluice-node >/dev/null 2>&1; then return; fi
  say 'base images'
  [ -d "$work/debian" ] || debootstrap --variant=minbase bookworm "$work/debian" >"$work/debootstrap.log"
  local debian node
  # What images of Debian leave out, these leave out too: sizes are then comparable.
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
  # The registry of this machine may be signed by a CA of its own.
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

# Runs a program of an image: its root read-only, user 10001, no capability, the variables given and nothing else.
#   inside <image> <folder for /var/lib/sluice> <NAME=value…> -- <arguments of node…>
inside() {
  local root=${roots[$1]} home=$2 variables=()
  shift 2
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  shift
  # EXEC=exec in a background shell: its number is then that of the process, and signals reach it.
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

# Resolves when a process is ready; fails after two minutes.
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
    # Left mounted only while this runs.
    roots[$name]=$(b mount "$(b from --pull-never "localhost/sluice-$name")")
    mkdir -p "${roots[$name]}/etc/ssl/certs" && touch "${roots[$name]}/etc/resolv.conf"
  done
  trap 'stop_stores; b rm --all >/dev/null' EXIT
  stores

  # Secrets as an orchestrator hands them out.
  for name in api ops worker; do
    mkdir -p "$work/$name/secrets"
    printf 'redis://127.0.0.1:56379\n' >"$work/$name/secrets/redis-url"
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
  local trusted=("$queue" "$database" "SLUICE_SECRET_KEY_FILE=$secrets/secret-key" "SLUICE_HOME=/var/lib/sluice")

  say 'sluice migrate, sluice models sync, sluice models pull'
  inside api "$work/api" "$database" -- bin/sluice.mjs migrate
  inside api "$work/api" "$database" -- bin/sluice.mjs models sync
  inside worker "$work/worker" SLUICE_HOME=/var/lib/sluice -- bin/sluice.mjs models pull stories-15m

  say 'api, ops and worker'
  (EXEC=exec && inside api "$work/api" "${trusted[@]}" HOST=127.0.0.1 PORT=53000 -- dist/apps/api/src/main.js) \
    >"$work/api.log" 2>&1 &
  pids+=($!)
  local api=$!
  (EXEC=exec && inside api "$work/ops" "${trusted[@]}" SLUICE_OPS_PORT=53002 -- dist/apps/ops/src/main.js) \
    >"$work/ops.log" 2>&1 &
  pids+=($!)
  local ops=$!
  (EXEC=exec && inside worker "$work/worker" "$queue" SLUICE_HOME=/var/lib/sluice SLUICE_MODELS=stories-15m \
    SLUICE_WORKER_PORT=53001 SLUICE_PROVIDERS=cpu -- dist/apps/worker/src/main.js) >"$work/worker.log" 2>&1 &
  pids+=($!)
  local worker=$!
  until_ready api http://127.0.0.1:53000/health/ready
  until_ready ops http://127.0.0.1:53002/health/ready
  until_ready worker http://127.0.0.1:53001/health/ready
  # The health check of the image, in the image.
  inside api "$work/api" -- docker/healthcheck.mjs 53000

  say 'an account, a key, a question'
  inside api "$work/api" "$database" -- bin/sluice.mjs accounts create me
  inside api "$work/api" "$database" -- bin/sluice.mjs credits grant 1
  local caller answer
  caller=$(inside api "$work/api" "$database" -- bin/sluice.mjs keys create --json | grep -o 'slk_[A-Za-z0-9_-]*' | head -1)
  for _ in $(seq 60); do
    answer=$(curl --silent http://127.0.0.1:53000/api/v1/chat/completions -H "authorization: Bearer $caller" \
      -H 'content-type: application/json' \
      -d '{"model":"stories-15m","max_completion_tokens":24,"messages":[{"role":"user","content":"Once upon a time"}]}')
    if grep -q '"choices"' <<<"$answer"; then break; fi
    sleep 1
  done
  echo "$answer"
  grep -q '"choices"' <<<"$answer"

  say 'who they are, and what they can write'
  for name in api ops worker; do
    local pid=${!name}
    # tini is the process; what it started is the program.
    local child
    child=$(pgrep -P "$pid" | head -1)
    grep -E '^(Uid|CapEff|CapPrm)' "/proc/$child/status" | tr '\n' ' '
    if nsenter --target "$child" --mount --root setpriv --reuid=10001 --clear-groups sh -c ': > /app/written' 2>/dev/null; then
      echo "$name wrote into its own program"
      return 1
    fi
    echo "$name: cannot write to /app"
  done

  say 'SIGTERM'
  for name in api ops worker; do
    kill -TERM "${!name}"
    wait "${!name}" && echo "$name ended with 0"
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
  # Empty files in their place: the layers are proven by them, the provider is not.
  trap 'rm -f docker/cuda-libraries/*.so' EXIT
  touch $libraries/libonnxruntime_providers_{shared,cuda}.so
  build worker-cuda --build-arg CUDA_LIBRARIES=folder
  rm -f $libraries/*.so
  trap - EXIT
}

for step in ${2:-bases api worker sizes run cuda}; do
  case $step in
    bases | sizes | run | cuda) "$step" ;;
    api | worker) build "$step" ;;
    *) echo "There is no step $step." && exit 2 ;;
  esac
done
say 'done'
