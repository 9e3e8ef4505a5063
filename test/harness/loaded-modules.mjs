import { appendFileSync } from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

/*
 * Notes every module that a process loads, one URL a line, in the file LOADED_MODULES_FILE:
 * NODE_OPTIONS="--import=<this file>".
 */

const file = process.env.LOADED_MODULES_FILE;

if (isMainThread && file !== undefined) register(import.meta.url, { data: { file } });

let target;

export function initialize({ file: path }) {
  target = path;
}

export async function load(url, context, nextLoad) {
  if (target !== undefined) appendFileSync(target, `${url}\n`);
  return nextLoad(url, context);
}
