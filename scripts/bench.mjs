#!/usr/bin/env node
// `npm run bench -- <name> [options]`: builds what changed, then runs one bench. Without a name it lists them.
import { resolve } from 'node:path';
import { benches } from './benches.mjs';
import { build } from './build.mjs';
import { chooseProgram } from './programs.mjs';
import { root, runCommand } from './steps.mjs';

const usage = `npm run bench -- <name> [options]

Runs one bench; \`npm run bench -- <name> --help\` lists its options. Figures: docs/operate/performance.md.`;
const { name, args } = chooseProgram(usage, benches);
try {
  build();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
process.exit(await runCommand([process.execPath, resolve(root, `dist/bench/${name}.js`), ...args]));
