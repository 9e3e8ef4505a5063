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
