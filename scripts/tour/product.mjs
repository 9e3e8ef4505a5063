import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const home = process.env.SLUICE_HOME || join(homedir(), '.sluice');
/** How long a first start may install, build and migrate. */
const startMs = 900_000;

/** Returns the address and a key of a product, and how to leave it as it was. */
export async function findProduct() {
  const { SLUICE_API_KEY: apiKey, SLUICE_BASE_URL: baseUrl } = process.env;
  const running = readRuntime();
  if (apiKey) {
    const address = baseUrl || running?.baseUrl || 'http://127.0.0.1:3000/api/v1';
    return { apiKey, baseUrl: address, close: () => Promise.resolve() };
  }
  const started = running === null ? await startProduct() : null;
  const { baseUrl: address } = running ?? started;
  try {
    const key = command('keys', 'create', '--description', 'npm run tour', '--json');
    return {
      apiKey: key.key,
      baseUrl: address,
      close: async () => {
        command('keys', 'revoke', key.id, '--json');
        await started?.stop();
      },
    };
  } catch (error) {
    await started?.stop();
    throw error;
  }
}

/** The file that `npm start` writes while it runs; null without a running product. */
function readRuntime() {
  try {
    const runtime = JSON.parse(readFileSync(join(home, 'runtime.json'), 'utf8'));
    process.kill(runtime.pid, 0);
    return runtime;
  } catch {
    return null;
  }
}

async function startProduct() {
  console.log('No product runs on this machine: starting one (npm start) …');
  const child = spawn(process.execPath, [join(root, 'scripts', 'start.mjs')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const deadline = performance.now() + startMs;
  for (;;) {
    const runtime = readRuntime();
    if (runtime !== null && (await isReady(runtime.healthUrl))) {
      const stop = async () => {
        child.kill('SIGTERM');
        await ended;
      };
      return { baseUrl: runtime.baseUrl, stop };
    }
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill('SIGTERM');
      throw new Error('npm start did not get ready; run it by itself to see why.');
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function isReady(healthUrl) {
  try {
    return (await fetch(new URL('/health/ready', healthUrl))).ok;
  } catch {
    return false;
  }
}

function command(...words) {
  const args = [join(root, 'bin', 'sluice.mjs'), ...words];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`sluice ${words.join(' ')}: ${stderr || stdout}`);
  return JSON.parse(stdout);
}
