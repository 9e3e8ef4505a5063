#!/usr/bin/env node
// `npm run site`: builds docs/ and the reference of the API as a searchable site of static files, and checks its links.
// Its packages are in tools/site and are installed on the first run, so that `npm ci` does not have them.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { generatePrismaClient } from './generate-prisma.mjs';
import { installPackages, root, runCommand } from './steps.mjs';

const about = `npm run site [-- options]\n
Builds docs/ and the reference of the API as a searchable site: static files that any web server serves.`;
const { values } = readCommandLine(about, {
  out: {
    value: 'DIR',
    about: 'where the files are written; what is there is deleted',
    default: join(root, 'dist/site'),
  },
  base: { value: 'PATH', about: 'the path below which the site is served, such as /sluice/', default: '/' },
  serve: { about: 'serves it on this machine afterward, until Ctrl-C' },
});
if (!/^\/(?:[\w.-]+\/)*$/.test(values.base)) {
  console.error(`--base takes a path that begins and ends with a slash, not "${values.base}".`);
  process.exit(2);
}

const folder = join(root, 'tools/site');
if (!(await installPackages('tools/site'))) process.exit(1);
const place = mkdtempSync(join(tmpdir(), 'sluice-site-'));
try {
  const document = join(place, 'openapi.json');
  writeFileSync(document, openApiDocument());
  const words = [join(folder, 'build-site.mjs'), document, resolve(values.out), values.base];
  process.exitCode = await runCommand([process.execPath, ...words]);
} finally {
  rmSync(place, { recursive: true });
}
if (values.serve && process.exitCode === 0) {
  const program = join(folder, 'node_modules/vitepress/bin/vitepress.js');
  process.exitCode = await runCommand([process.execPath, program, 'serve', folder]);
}

/** The OpenAPI document as every api serves it, from the sources. */
function openApiDocument() {
  generatePrismaClient();
  const source = ['--conditions=sluice-source', '--import', resolve(root, 'test/harness/run-source.mjs')];
  const program = resolve(root, 'test/conformance/print-document.ts');
  const options = { cwd: root, maxBuffer: 64e6, stdio: ['ignore', 'pipe', 'inherit'] };
  return execFileSync(process.execPath, [...source, program], options);
}
