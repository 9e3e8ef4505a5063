#!/usr/bin/env node
// `npm run dashboards [-- --check]` writes the dashboards; `npm run dashboards -- images` draws them.
import { resolve } from 'node:path';
import { root, runCommand } from './steps.mjs';

const args = process.argv.slice(2);
const isDrawing = args[0] === 'images';
const script = resolve(root, isDrawing ? 'scripts/dashboard-images.mjs' : 'scripts/generate-observability.mjs');
process.exit(await runCommand([process.execPath, script, ...(isDrawing ? args.slice(1) : args)]));
