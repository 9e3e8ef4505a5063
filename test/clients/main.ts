import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startPlatform } from '#test/platform';
import { installedWeights, weightsHome } from '../models/starter-weights.js';

/*
 * Starts the platform with TinyLlama and runs the client libraries against it, in a process of their own: they resolve
 * their own packages, and only HTTP connects the two. Arguments are those of `libraries/run.mjs`.
 */
const modelId = 'tinyllama-1.1b-chat';

function runLibraries(service: object): Promise<number> {
  const program = fileURLToPath(new URL('libraries/run.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, ...process.argv.slice(2)], {
    env: { PATH: process.env.PATH ?? '', SLUICE_TEST_CLIENTS_SERVICE: JSON.stringify(service) },
    stdio: 'inherit',
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

const { manifest } = await installedWeights(modelId);
const platform = await startPlatform({ engine: 'text', home: weightsHome, manifests: [manifest], ownPostgres: true });
try {
  const { baseUrl: baseURL, inferenceKey: apiKey } = platform;
  process.exitCode = await runLibraries({ baseURL, apiKey, model: modelId });
  const failed = (await platform.closedJobs()).filter(({ state }) => state === 'failed');
  for (const { request_id: id, error_code: code } of failed) process.stdout.write(`job ${id} failed: ${code}\n`);
} finally {
  await platform.stop();
}
