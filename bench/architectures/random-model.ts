import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { convertModel } from '#model-store';
import { BenchChild } from '../text/child.contender.js';
import type { ArchitectureCase, ModelSize } from './cases.js';
import type { Workload } from './decoder-run.js';
import { writeRandomGguf } from './random-gguf.js';

const childPath = fileURLToPath(new URL('./decoder.child.js', import.meta.url));

/**
 * Converts a random model of the architecture, in the precision of its file, and opens it in a process of its own: where
 * the memory of its weights lies would otherwise depend on the models before it.
 */
export async function startRandomModel(
  model: ArchitectureCase,
  size: ModelSize,
  { folder, ...options }: Workload & { folder: string; threads: number },
): Promise<BenchChild> {
  const inputFolder = join(folder, 'source');
  const outputFolder = join(folder, 'converted');
  for (const each of [inputFolder, outputFolder]) await mkdir(each, { recursive: true });
  await writeRandomGguf(join(inputFolder, 'random.gguf'), model, size);
  await convertModel({ kind: 'gguf', inputFolder, outputFolder, options: {} });
  await rm(inputFolder, { recursive: true });
  const child = await BenchChild.start(childPath, { ...options, modelPath: join(outputFolder, 'model.onnx') });
  await rm(folder, { recursive: true });
  return child;
}
