# Starts the object store of docker/compose.yaml. Its root creates users and does nothing else: `api` (api and
# ops) manages the artifacts of the bucket, `worker` reads and writes them and lists none, and the user of a pool
# (`sluice pools storage-users`) reads and writes those of its models.
set -eu
key() { cat "/run/secrets/$1/access-key-id"; }
secret() { cat "/run/secrets/$1/secret-access-key"; }

# A bucket is a folder. It is created before the server starts.
mkdir -p /data/sluice-artifacts

create_user() { # <folder with the keys>
  id=$(cat "$1/access-key-id") && [ -n "$id" ] || return
  case "$1" in
    /run/pool-users/*) policy=$id file=$1/policy.json ;;
    *) policy=${1##*-} file=/etc/sluice/artifacts/${1##*-}.json ;;
  esac
  mc admin policy create store "$policy" "$file" || return
  printf '%s\n%s\n' "$id" "$(cat "$1/secret-access-key")" | mc admin user add store || return
  message=$(mc admin policy attach store "$policy" --user "$id" 2>&1) && return
  # Users of an earlier start have it.
  case "$message" in *'already in effect'*) return 0 ;; esac
  echo "$message" >&2
  return 1
}

# A pool that was taken out of SLUICE_POOLS loses its user. The keys of the others say how the users of pools are named.
remove_users() {
  prefix=sluice-pool-
  for folder in /run/pool-users/*; do
    [ -d "$folder" ] || continue
    id=$(cat "$folder/access-key-id") || return
    prefix=${id%"${folder##*/}"}
  done
  # Whatever the keys say, no other user is removed.
  case "$prefix" in ?*-pool-) ;; *) return 1 ;; esac
  users=$(mc admin user list store --json) || return
  printf '%s\n' "$users" | {
    result=0
    while read -r line; do
      name=${line#*'"accessKey":'}
      name=${name#*'"'}
      name=${name%%'"'*}
      case "$name" in "$prefix"*) ;; *) continue ;; esac
      [ -d "/run/pool-users/${name#"$prefix"}" ] || mc admin user remove store "$name" || result=1
    done
    exit "$result"
  }
}

# Keys come through stdin and the environment, because every process of the machine can read a command line.
create_users() {
  MC_HOST_store="http://$(key artifact-root):$(secret artifact-root)@127.0.0.1:9000"
  export MC_HOST_store
  until mc ready store >/dev/null 2>&1; do sleep 1; done
  set -- 'create_user /run/secrets/artifacts-api' 'create_user /run/secrets/artifacts-worker'
  for folder in /run/pool-users/*; do
    # Without pools the pattern stands for itself.
    [ -d "$folder" ] || continue
    set -- "$@" "create_user $folder"
  done
  set -- "$@" remove_users
  # What fails keeps nothing else from being done, and is tried again.
  while [ $# -gt 0 ]; do
    for step; do
      shift
      $step && continue
      echo "Failed, and tried again in 5 s: $step" >&2
      set -- "$@" "$step"
    done
    [ $# -eq 0 ] || sleep 5
  done
}
create_users &
exec minio server /data --address :9000
