import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../bin/sluice.mjs', import.meta.url));

export interface FinishedCommand {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Starts the built command line in a process of its own with only this environment, as operators do. */
export function startSluice(
  line: readonly string[],
  env: NodeJS.ProcessEnv,
): { child: ChildProcess; finished: Promise<FinishedCommand> } {
  const child = spawn(process.execPath, [bin, ...line], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const finished = new Promise<FinishedCommand>((resolve) =>
    child.on('close', (code) => resolve({ code, stdout, stderr })),
  );
  return { child, finished };
}
