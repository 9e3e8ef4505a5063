import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommandLine } from '#command-line';
import { formatBytes } from '#model-store';
import { convertInChild } from './convert-in-child.js';
import { maxPeakBytes } from './limits.js';
import { type SparseShape, writeSparseGguf, writeSparseSafetensors } from './sparse-models.js';

/** The sizes of Llama 3 70B. */
const large: SparseShape = {
  layers: 18,
  hiddenSize: 8192,
  heads: 64,
  keyValueHeads: 8,
  feedForwardSize: 28_672,
  vocabularySize: 128_256,
};

interface Case {
  kind: 'gguf' | 'safetensors';
  options: Record<string, string | number>;
  write: (folder: string) => Promise<number>;
}

const cases: Record<string, Case> = {
  gguf: { kind: 'gguf', options: { weights: 'int4' }, write: (folder) => writeSparseGguf(folder, large) },
  safetensors: {
    kind: 'safetensors',
    options: { weights: 'int4' },
    write: (folder) => writeSparseSafetensors(folder, large, 'F32'),
  },
  // The largest matrices, transposed.
  float32: {
    kind: 'safetensors',
    options: { weights: 'stored' },
    write: (folder) => writeSparseSafetensors(folder, { ...large, layers: 1 }, 'BF16'),
  },
};

const neededBytes = 16e9;

const about = `npm test -- conversions [options]

Converts files of 70 GB, whose weights are holes, and fails if a process takes more than 1.5 GB of memory. Needs 16 GB of
disk. Names: ${Object.keys(cases).join(', ')}.`;
const { values } = readCommandLine(about, {
  folder: { value: 'DIR', about: 'where the files are written', default: tmpdir() },
  only: { value: 'NAME', about: 'only this conversion' },
});
if (values.only !== null && !Object.hasOwn(cases, values.only)) {
  process.stderr.write(`Unknown conversion ${values.only}; expected ${Object.keys(cases).join(', ')}.\n`);
  process.exit(2);
}
const folder = await mkdtemp(join(values.folder, 'conversions-'));
try {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < neededBytes) throw new Error(`${folder} needs ${formatBytes(neededBytes)} of free disk.`);
  for (const [name, { kind, options, write }] of Object.entries(cases)) {
    if (values.only !== null && values.only !== name) continue;
    const [inputFolder, outputFolder] = [join(folder, 'in'), join(folder, 'out')];
    for (const path of [inputFolder, outputFolder]) await mkdir(path);
    const bytes = await write(inputFolder);
    const startMs = performance.now();
    const { peakBytes } = await convertInChild({ kind, options, inputFolder, outputFolder });
    const seconds = Math.round((performance.now() - startMs) / 1_000);
    const peak = peakBytes ?? Infinity;
    const result = peak > maxPeakBytes ? 'too much' : 'ok';
    process.stdout.write(`${name}: ${formatBytes(bytes)} in ${seconds} s, peak ${formatBytes(peak)}, ${result}\n`);
    if (peak > maxPeakBytes) process.exitCode = 1;
    for (const path of [inputFolder, outputFolder]) await rm(path, { recursive: true });
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
