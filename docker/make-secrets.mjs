// node docker/make-secrets.mjs <folder>: creates random passwords for docker/compose.yaml. Existing files stay
// unchanged.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const folder = process.argv[2];
if (!folder) {
  console.error('Expected the folder for the secrets.');
  process.exit(1);
}

const random = (bytes) => randomBytes(bytes).toString('hex');
const database = random(24);
const queue = random(24);

// A URL and its password are created together, because they must match.
make('database', {
  password: database,
  url: `postgresql://sluice:${database}@database:5432/sluice`,
  'secret-key': random(32),
});
make('queue', { password: queue, url: `redis://:${queue}@queue:6379`, key: random(32) });
// Root of the object store, the user of api and ops, and that of workers.
for (const user of ['artifact-root', 'artifacts', 'worker-artifacts']) {
  make(user, { 'access-key-id': random(10), 'secret-access-key': random(20) });
}
make('grafana', { password: random(12) });

function make(name, secrets) {
  const done = join(folder, name, '.complete');
  if (existsSync(done)) return;
  for (const [file, value] of [...Object.entries(secrets), ['.complete', '']]) {
    const path = join(folder, name, file);
    mkdirSync(dirname(path), { recursive: true });
    // The images run as users of their own; access is controlled by who mounts the volume.
    writeFileSync(path, value, { mode: 0o444 });
  }
}
