import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DecoderSize, VisionSize } from '#model-memory';
import type { ModelManifest } from '#model-registry/manifest';
import { visionFile } from '../convert/vision/hub-vision.js';
import { InputFile } from '../convert/input-file.js';
import { decodeNode, type GraphNode, readOnnxModel, type StoredModel, type StoredTensor } from '../onnx/index.js';
import { visionSizes } from './vision-sizes.js';
import { addedBytesOf, bytesOfTensor, isMapped, tablesOf } from './graph-tables.js';

/**
 * Reads from the graph of an installed decoder what its memory depends on. Null for a graph that no converter of this
 * project wrote in the layout `split`.
 */
export async function readDecoderSize(
  folder: string,
  { graphFile, familyOptions = {} }: Pick<ModelManifest, 'graphFile' | 'familyOptions'>,
): Promise<DecoderSize | null> {
  const file = await InputFile.open(folder, graphFile);
  try {
    const model = await readOnnxModel(file, { allowsExternal: true });
    const size = sizeOf(model, await Promise.all(model.nodes.map(decodeNode)));
    const readsImages = model.inputs.some(({ name }) => name === 'media');
    return size && readsImages ? { ...size, vision: await readVisionSize(folder, familyOptions) } : size;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  } finally {
    await file.close();
  }
}

/** Reads the same of the graph that encodes images, and of `config.json`, which the converter wrote. */
async function readVisionSize(folder: string, options: Record<string, unknown>): Promise<VisionSize> {
  const file = await InputFile.open(folder, String(options['visionEncoder'] ?? visionFile));
  try {
    const { initializers, nodes } = await readOnnxModel(file, { allowsExternal: true });
    const { weightsBytes } = weightsOf(initializers, await Promise.all(nodes.map(decodeNode)));
    const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as Record<string, unknown>;
    return { weightsBytes, ...visionSizes(config, options) };
  } finally {
    await file.close();
  }
}

const statePattern = /^past_states\./;
const pastPattern = /^past(?:_key_values)?\.\d+\.(?:key|value|latent|index)$/;

function sizeOf({ inputs, outputs, initializers }: StoredModel, nodes: readonly GraphNode[]): DecoderSize | null {
  // Other layouts keep two or more caches of a row, as long as V8 does not collect them.
  if (!inputs.some(({ name }) => name === 'past_lens')) return null;
  const pasts = inputs.filter(({ name }) => pastPattern.test(name));
  const states = inputs.filter(({ name }) => statePattern.test(name));
  const vocabularySize = Number(outputs.find(({ name }) => name === 'logits')?.dimensions.at(-1));
  if (pasts.length + states.length === 0 || !Number.isInteger(vocabularySize)) return null;
  const size = { cacheBytesPerToken: 0, windowCache: null as DecoderSize['windowCache'] };
  for (const { type, dimensions } of pasts) {
    const [, heads, positions, headSize] = dimensions;
    const bytes = bytesOfTensor({ type, dimensions: [Number(heads), Number(headSize)] });
    const window = Number(/^window_(\d+)$/.exec(String(positions))?.[1]);
    if (Number.isNaN(window)) size.cacheBytesPerToken += bytes;
    else size.windowCache = { size: window, bytesPerToken: (size.windowCache?.bytesPerToken ?? 0) + bytes };
  }
  const stateBytes = states.reduce((sum, { type, dimensions: [, ...sizes] }) => {
    return sum + bytesOfTensor({ type, dimensions: sizes.map(Number) });
  }, 0);
  const heads = Math.max(0, ...nodes.map(({ integers }) => integers['num_heads'] ?? 0));
  return { ...size, ...weightsOf(initializers, nodes), heads, vocabularySize, stateBytes };
}

/** Tables of which only rows are gathered are mapped, and hardly read. */
function weightsOf(
  initializers: readonly StoredTensor[],
  nodes: readonly GraphNode[],
): Pick<DecoderSize, 'weightsBytes' | 'largestBytes'> {
  const tables = tablesOf(nodes);
  const bytes = initializers.filter((tensor) => !isMapped(tensor, tables)).map(bytesOfTensor);
  const added = nodes.map(addedBytesOf).reduce((sum, count) => sum + count, 0);
  return { weightsBytes: bytes.reduce((sum, count) => sum + count, added), largestBytes: Math.max(0, ...bytes) };
}
