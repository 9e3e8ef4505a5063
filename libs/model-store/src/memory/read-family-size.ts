import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ModelManifest } from '#model-registry/manifest';
import type { FamilySize } from '#model-memory';
import { mattingPixels } from '#model-registry/matting';
import { InputFile } from '../convert/input-file.js';
import { filesBelow } from '../files-below.js';
import { decodeNode, readOnnxModel } from '../onnx/index.js';
import { addedBytesOf, bytesOfTensor, isMapped, tablesOf } from './graph-tables.js';

/**
 * A decoder in which a first and a later step are branches: each has its own copy of the matrices as the kernels take
 * them, beside the stored ones.
 */
const mergedDecoderFactor = 3;

type Fields = Pick<ModelManifest, 'family' | 'graphFile' | 'familyOptions'>;

/** Reads from the files of an installed model what the memory of its host depends on. */
export async function readFamilySize(
  folder: string,
  { family, graphFile, familyOptions = {} }: Fields,
  maxTokens: number,
): Promise<FamilySize> {
  const paths = await filesBelow(folder);
  // Weights may be links into a shared store; the loader says that one is broken.
  const sizes = new Map(
    await Promise.all(
      paths.map(async (path) => [path, (await stat(join(folder, path)).catch(() => ({ size: 0 }))).size] as const),
    ),
  );
  const tokenizerBytes = sizes.get('tokenizer.json') ?? 0;
  const all = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  const decoderBytes = sizes.get(String(familyOptions['decoderFile'])) ?? 0;
  const { mapped, added } = paths.some((path) => basename(path).startsWith(`${basename(graphFile)}_data`))
    ? await graphBytes(folder, graphFile)
    : { mapped: 0, added: 0 };
  const weightsBytes = all - tokenizerBytes - mapped + added + (mergedDecoderFactor - 1) * decoderBytes;
  const pixels = mattingPixels(family, familyOptions);
  const config = await readConfig(folder);
  return { family, weightsBytes, tokenizerBytes, config, maxTokens, ...(pixels > 0 && { pixels }) };
}

/** Tables in a file beside the graph of which only rows are gathered, and what the runtime adds to blocks. */
async function graphBytes(folder: string, graphFile: string): Promise<{ mapped: number; added: number }> {
  const file = await InputFile.open(folder, graphFile);
  try {
    const { nodes, initializers } = await readOnnxModel(file, { allowsExternal: true });
    const decoded = await Promise.all(nodes.map(decodeNode));
    const tables = tablesOf(decoded);
    const mapped = initializers.filter((tensor) => isMapped(tensor, tables));
    return {
      mapped: mapped.reduce((sum, tensor) => sum + bytesOfTensor(tensor), 0),
      added: decoded.reduce((sum, node) => sum + addedBytesOf(node), 0),
    };
  } catch (error) {
    if (error instanceof RangeError) return { mapped: 0, added: 0 };
    throw error;
  } finally {
    await file.close();
  }
}

async function readConfig(folder: string): Promise<Record<string, unknown>> {
  const text = await readFile(join(folder, 'config.json'), 'utf8').catch(() => '{}');
  try {
    const config: unknown = JSON.parse(text);
    return typeof config === 'object' && config !== null ? (config as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
