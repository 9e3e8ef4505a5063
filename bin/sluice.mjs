#!/usr/bin/env node
// Operator command line: runs the built apps/cli, and builds it first in a fresh clone.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, 'dist', 'apps', 'cli', 'src', 'main.js');

function fail(message) {
  console.error(message);
  process.exit(1);
}

if (!existsSync(main)) {
  if (!existsSync(join(root, 'node_modules'))) fail('Sluice is not installed yet. Run: npm ci');
  console.error('Building …');
  try {
    const { buildForStart } = await import('../scripts/build.mjs');
    await buildForStart();
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error} Run: npm run build`);
  }
}
await import(pathToFileURL(main).href);
