/* What `npm start` and `npm run dev` do before they run anything: install and build what is missing. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireNode } from '../bin/require-node.mjs';
import { trimRuntime } from '../bin/trim-runtime.mjs';
import { hiddenLockfile, installForStart } from './install-for-start.mjs';
import { describeSetupFailure } from './setup-failure.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function isInstallStale() {
  const installed = join(root, hiddenLockfile);
  if (!existsSync(installed)) return true;
  return statSync(join(root, 'package-lock.json')).mtimeMs > statSync(installed).mtimeMs;
}

/** Ends the process with a message if it fails. */
export async function prepareStart() {
  requireNode();
  try {
    if (isInstallStale()) {
      await installForStart(root);
      trimRuntime();
    }
    await buildIfStale();
  } catch (error) {
    console.error(describeSetupFailure(error));
    process.exit(1);
  }
}

async function buildIfStale() {
  const { buildForStart, isBuildStale } = await import('./build.mjs');
  if (!isBuildStale()) return;
  console.log('Building …');
  await buildForStart();
}
