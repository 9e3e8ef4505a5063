// node docker/make-secrets.mjs <folder>: random passwords for docker/compose.yaml. What is there already stays as it is.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const folder = process.argv[2];
if (!folder) {
  console.error('Expected the folder that the secrets are written into.');
  process.exit(1);
}

const random = (bytes) => randomBytes(bytes).toString('hex');
const database = random(24);
const queue = random(24);

// A url and its password are made together: one of them alone would open nothing.
make('database', {
  password: database,
  url: `postgresql://sluice:${database}@database:5432/sluice`,
  'secret-key': random(32),
});
make('queue', { password: queue, url: `redis://:${queue}@queue:6379` });
make('artifacts', { 'access-key-id': random(10), 'secret-access-key': random(20) });
make('grafana', { password: random(12) });

function make(name, secrets) {
  const done = join(folder, name, '.complete');
  if (existsSync(done)) return;
  for (const [file, value] of [...Object.entries(secrets), ['.complete', '']]) {
    const path = join(folder, name, file);
    mkdirSync(dirname(path), { recursive: true });
    // The images run as users of their own; who may read is decided by who mounts the volume.
    writeFileSync(path, value, { mode: 0o444 });
  }
}
