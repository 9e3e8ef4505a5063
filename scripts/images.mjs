#!/usr/bin/env node
// `npm run nightly -- images`: builds the images and runs api, ops and a worker in them, with Docker where it runs, and
// else with buildah (docker/prove.sh).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { notRunCode, root, runCommand } from './steps.mjs';

/** Folder of Debian's programs, which has no links to them on the PATH. */
const postgres = '/usr/lib/postgresql/15/bin';

const runs = (program, ...args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;
const program = (name) => resolve(root, 'docker', name);

/** Runs prove.sh in a folder that is removed; /tmp may be memory. */
async function proveWithBuildah() {
  const folder = mkdtempSync(join('/var/tmp', 'sluice-images-'));
  try {
    return await runCommand([program('prove.sh'), folder], { env: { PATH: `${process.env.PATH}:${postgres}` } });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (runs('docker', 'info')) process.exitCode = await runCommand([program('run.sh')]);
else if (process.getuid?.() === 0 && runs('buildah', '--version') && runs('debootstrap', '--version'))
  process.exitCode = await proveWithBuildah();
else {
  console.log('NOT RUN: neither Docker runs, nor is this root with buildah and debootstrap.');
  process.exitCode = notRunCode;
}
