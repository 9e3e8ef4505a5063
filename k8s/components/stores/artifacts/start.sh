# Starts the object store, as in docker/compose/artifacts. Its root creates two users and does nothing else: `api` (api and ops)
# manages the artifacts of the bucket, `worker` reads and writes them and lists none.
set -eu
key() { cat "/run/secrets/$1/access-key-id"; }
secret() { cat "/run/secrets/$1/secret-access-key"; }

# A bucket is a folder. It is created before the server starts.
mkdir -p /data/sluice-artifacts

# Keys come through stdin and the environment, because every process of the machine can read a command line.
create_users() {
  MC_HOST_store="http://$(key artifact-root):$(secret artifact-root)@127.0.0.1:9000"
  export MC_HOST_store
  until mc ready store >/dev/null 2>&1; do sleep 1; done
  for user in api worker; do
    mc admin policy create store "$user" "/etc/sluice/artifacts/$user.json"
    printf '%s\n%s\n' "$(key "artifacts-$user")" "$(secret "artifacts-$user")" | mc admin user add store
    # Fails when the user has the policy already.
    mc admin policy attach store "$user" --user "$(key "artifacts-$user")" || true
  done
}
create_users &
exec minio server /data --address :9000
