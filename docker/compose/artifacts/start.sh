# Starts the object store of docker/compose.yaml. Its root creates users and does nothing else: `api` (api and
# ops) manages the artifacts of the bucket, `worker` reads and writes them and lists none, and the user of a pool
# (`sluice pools storage-users`) reads and writes those of its models.
set -eu
key() { cat "/run/secrets/$1/access-key-id"; }
secret() { cat "/run/secrets/$1/secret-access-key"; }

# A bucket is a folder. It is created before the server starts.
mkdir -p /data/sluice-artifacts

create_user() { # <policy> <file of it> <folder with the keys>
  mc admin policy create store "$1" "$2"
  printf '%s\n%s\n' "$(cat "$3/access-key-id")" "$(cat "$3/secret-access-key")" | mc admin user add store
  # Fails when the user has the policy already.
  mc admin policy attach store "$1" --user "$(cat "$3/access-key-id")" || true
}

# A pool that was taken out of SLUICE_POOLS loses its user.
remove_users() {
  mc admin user list store --json | while read -r line; do
    name=${line#*'"accessKey":'}
    name=${name#*'"'}
    name=${name%%'"'*}
    case "$line" in *'"accessKey"'*sluice-pool-*) ;; *) continue ;; esac
    [ -d "/run/pool-users/${name#sluice-pool-}" ] || mc admin user remove store "$name"
  done
}

# Keys come through stdin and the environment, because every process of the machine can read a command line.
create_users() {
  MC_HOST_store="http://$(key artifact-root):$(secret artifact-root)@127.0.0.1:9000"
  export MC_HOST_store
  until mc ready store >/dev/null 2>&1; do sleep 1; done
  for user in api worker; do
    create_user "$user" "/etc/sluice/artifacts/$user.json" "/run/secrets/artifacts-$user"
  done
  for folder in /run/pool-users/*; do
    # Without pools the pattern stands for itself.
    [ -d "$folder" ] || continue
    create_user "$(cat "$folder/access-key-id")" "$folder/policy.json" "$folder"
  done
  remove_users
}
create_users &
exec minio server /data --address :9000
