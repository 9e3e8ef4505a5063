import { fileURLToPath } from 'node:url';

/** Options for node to run the TypeScript sources of this checkout, for the processes that integration tests fork. */
export const runSourceArguments = [
  '--conditions=sluice-source',
  '--import',
  new URL('./run-source.mjs', import.meta.url).href,
];

/** Path of a source file of this checkout, e.g. `apps/worker/src/main.ts`. */
export function sourcePath(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
