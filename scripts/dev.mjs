#!/usr/bin/env node
// `npm run dev`: `npm start`, and each of api, worker and ops restarts when its sources change. A change that the worker
// does not use leaves it, and the models that it has loaded, as they are. Types are not checked: `npm run check -- types`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { watchAndRestart } from './dev/dev-loop.mjs';
import { prepareStart } from './prepare-start.mjs';
import { root } from './steps.mjs';

await prepareStart();
// A restart waits for open requests, but not as long as a shutdown in production.
const env = { SLUICE_SHUTDOWN_GRACE_MS: '1000', SLUICE_DRAIN_MS: '1000', ...process.env };
const main = join(root, 'dist', 'apps', 'local', 'src', 'main.js');
const local = spawn(process.execPath, [main], { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
const endWatch = await watchAndRestart({
  root,
  restart: (names) => local.connected && local.send({ restart: names }),
  say: (text) => console.log(`dev: ${text}`),
});

// Ctrl-C reaches `local` as well, which stops in order; this process waits for it.
process.on('SIGINT', () => undefined);
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => local.kill(signal));
local.once('exit', (code) => {
  endWatch();
  process.exit(code ?? 1);
});
