import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Node options for running the TypeScript sources of this checkout in forked processes of integration tests. */
export const runSourceArguments = [
  '--conditions=sluice-source',
  '--import',
  new URL('./run-source.mjs', import.meta.url).href,
];

/** Path of a source file of this checkout, e.g. `apps/worker/src/main.ts`. */
export function sourcePath(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

/** Runs a program without input once, so that its sources are compiled before a sandbox forbids it to write files. */
export async function compileProgram(modulePath: string): Promise<void> {
  const child = spawn(process.execPath, [...runSourceArguments, modulePath], { stdio: 'ignore' });
  await once(child, 'exit');
}
