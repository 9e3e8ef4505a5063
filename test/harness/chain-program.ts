import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = new URL(import.meta.url.includes('/dist/test/harness/') ? '../../../' : '../../', import.meta.url);
const maxOutputBytes = 16 * 1024 * 1024;

/** Path of a program of `test/chains/programs`, which has packages of its own. Throws if those are not installed. */
export function chainProgram(name: string): string {
  if (!existsSync(new URL('test/chains/programs/node_modules/hardhat/package.json', root))) {
    throw new Error('The packages of test/chains are not installed: npm test -- chains installs them.');
  }
  return fileURLToPath(new URL(`test/chains/programs/${name}`, root));
}

/** Runs a program of `test/chains/programs` to its end; resolves to what it printed. */
export async function runChainProgram(name: string, environment: Record<string, string> = {}): Promise<string> {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment };
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [chainProgram(name)], { env, maxBuffer: maxOutputBytes });
  return stdout;
}

/** A chain in a process of its own. */
export interface ChainProcess {
  /** Where it answers JSON-RPC. */
  url: string;
  stop(): Promise<void>;
}

/** Starts a chain of `test/chains/programs`; it ends with this process. `environment` has its options. */
export async function startChainProgram(name: string, environment: Record<string, string>): Promise<ChainProcess> {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment };
  const child = spawn(process.execPath, [chainProgram(name)], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const url = await Promise.race([readUrl(child), ended.then(() => null)]);
  if (url === null) throw new Error(`${name} did not start`);
  return {
    url,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function readUrl(child: ChildProcess): Promise<string | null> {
  if (!child.stdout) return null;
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue;
    child.stdout.resume();
    return (JSON.parse(line) as { url: string }).url;
  }
  return null;
}
