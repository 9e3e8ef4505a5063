#!/usr/bin/env node
// `npm run nightly -- pictogram-training`: every stage of tools/train/pictogram on tiny settings, in about a minute. Needs
// Python with the packages of its requirements.txt (SLUICE_TEST_PYTHON, default python3); says so where they are missing.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { notRunCode, root } from './steps.mjs';

const python = process.env.SLUICE_TEST_PYTHON ?? 'python3';
/** Exit code of train.sh without the packages. */
const missing = 3;

const out = mkdtempSync(join(tmpdir(), 'sluice-pictogram-'));
try {
  const program = resolve(root, 'tools/train/pictogram/train.sh');
  const { status } = spawnSync(program, ['--tiny', '--python', python, '--out', out], { stdio: 'inherit' });
  if (status === missing)
    console.log(`NOT RUN: ${python} lacks the packages of tools/train/pictogram/requirements.txt.`);
  process.exitCode = status === missing ? notRunCode : (status ?? 1);
} finally {
  rmSync(out, { recursive: true });
}
