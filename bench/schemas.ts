import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';
import { checkSchema } from '#common/json-schema';
import { ConstraintCompiler } from '#inference';
import { wordTrie } from '#test/word-trie';

import { benchOptions } from './settings.js';

const options = benchOptions(
  `npm run bench -- schemas [options]

How many schemas of a folder are accepted, strict and not: by the check of the api, and by the compiler with its budget of
time and memory. The folder is that of bench/schemas/fetch-corpus.py.`,
  {
    folder: { value: 'FOLDER', about: 'folder of schemas, one JSON file each', default: 'bench/schemas/corpus' },
    every: { value: 'N', about: 'every N-th file only', default: 1 },
    shown: { value: 'N', about: 'reasons of refusals that are printed', default: 15 },
  },
);

/** Words for the mask of a compiled schema. */
const words = 2_000;
const trie = wordTrie(words);

/** Null for an accepted schema, else the reason without names of the schema. */
async function refusalOf(schema: unknown, isStrict: boolean): Promise<string | null> {
  const { refusal } = checkSchema(schema, { isStrict });
  if (refusal !== null) return `${refusal.pointer.split('/').at(-1)}: ${refusal.reason}`;
  try {
    await new ConstraintCompiler(trie).compile({ type: 'json-schema', schema, param: 'schema', isStrict });
    return null;
  } catch (error) {
    if (error instanceof PlatformError) return error.message.replace(/^The schema is not supported( at [^:]*\/)?/, '');
    throw error;
  }
}

async function measure(files: readonly string[], isStrict: boolean): Promise<void> {
  const reasons = new Map<string, number>();
  let accepted = 0;
  for (const file of files) {
    const schema = JSON.parse(await readFile(join(options.folder, file), 'utf8')) as unknown;
    const refusal = await refusalOf(schema, isStrict);
    if (refusal === null) accepted++;
    else reasons.set(refusal, (reasons.get(refusal) ?? 0) + 1);
  }
  const share = ((accepted / files.length) * 100).toFixed(1);
  process.stdout.write(`${isStrict ? 'strict' : 'not strict'}: ${accepted} of ${files.length} (${share} %)\n`);
  const sorted = [...reasons].sort(([, left], [, right]) => right - left).slice(0, options.shown);
  for (const [reason, count] of sorted)
    process.stdout.write(`  ${String(count).padStart(4)}  ${reason.slice(0, 120)}\n`);
}

const all = (await readdir(options.folder)).filter((file) => file.endsWith('.json')).sort();
const files = all.filter((_, index) => index % options.every === 0);
for (const isStrict of [false, true]) await measure(files, isStrict);
