#!/usr/bin/env node
// `npm start`: installs and builds what is missing, then runs everything on this machine (apps/local).
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepareStart } from './prepare-start.mjs';

await prepareStart();
await import(pathToFileURL(join(import.meta.dirname, '..', 'dist', 'apps', 'local', 'src', 'main.js')).href);
