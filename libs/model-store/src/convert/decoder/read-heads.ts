import { invalidFile } from '../invalid-file.js';
import type { Architecture } from './architecture.js';
import type { DecoderShape } from './decoder-shape.js';
import type { DecoderSource } from './decoder-source.js';

/* Heads that differ between layers with a window and those without, as in Gemma 4. */

export const keyValueHeadsKey = 'attention.head_count_kv';

type ReadHeads = Pick<DecoderShape, 'headSizes' | 'keyValueHeadsOfLayers' | 'keysAsValues' | 'sharedKeyValues'>;

interface LayerHeads {
  layers: number;
  heads: number;
  headSize: number;
  windowed: readonly boolean[];
}

/** Returns the key-value heads of all layers, or the most of a layer where the source may list them. */
export function mostKeyValueHeads({ parameters }: DecoderSource, { variedHeads }: Architecture, heads: number): number {
  const listed = variedHeads ? parameters.listedNumbers(keyValueHeadsKey) : null;
  return listed?.reduce((most, count) => Math.max(most, count), 0) ?? parameters.size(keyValueHeadsKey, heads);
}

/** Reads sizes and numbers of heads by layer, and layers behind the others that read their keys and values. */
export function readHeads(source: DecoderSource, sizes: LayerHeads): ReadHeads {
  return {
    ...readHeadSizes(source, sizes),
    ...readSharing(source, sizes),
    keyValueHeadsOfLayers: readKeyValueHeads(source, sizes),
    keysAsValues: readKeysAsValues(source, sizes),
  };
}

function readHeadSizes(
  { parameters, fileName }: DecoderSource,
  { headSize, windowed }: LayerHeads,
): Pick<DecoderShape, 'headSizes'> {
  const narrow = parameters.size('attention.key_length_swa', headSize);
  if (narrow === headSize) return {};
  if (narrow < headSize && narrow % 2 === 0) {
    return { headSizes: windowed.map((hasWindow) => (hasWindow ? narrow : headSize)) };
  }
  throw invalidFile(fileName, `its heads of ${narrow} values in layers with a window do not fit those of ${headSize}`);
}

function readSharing(
  { parameters, fileName }: DecoderSource,
  { layers, windowed }: LayerHeads,
): Pick<DecoderShape, 'sharedKeyValues'> {
  const shared = parameters.number('attention.shared_kv_layers', 0);
  if (shared === 0) return {};
  const first = layers - shared;
  const sources = windowed.map((hasWindow, layer) =>
    layer < first ? null : windowed.slice(0, Math.max(0, first)).lastIndexOf(hasWindow),
  );
  if (Number.isSafeInteger(shared) && shared > 0 && !sources.includes(-1)) return { sharedKeyValues: sources };
  throw invalidFile(fileName, `${shared} of its ${layers} layers share keys and values that no other layer has`);
}

/** Layers with a window have one number of key-value heads, and the others one. */
function readKeyValueHeads(source: DecoderSource, { layers, heads, windowed }: LayerHeads): number[] | undefined {
  const counts = source.parameters.listedNumbers(keyValueHeadsKey);
  if (counts === null) return undefined;
  const kinds = [true, false].map((kind) => new Set(counts.filter((_, layer) => windowed[layer] === kind)));
  const fit = counts.every((count) => Number.isSafeInteger(count) && count >= 1 && heads % count === 0);
  if (counts.length === layers && fit && kinds.every(({ size }) => size <= 1)) {
    return new Set(counts).size === 1 ? undefined : counts;
  }
  const listed = `its \`${source.architecture}.${keyValueHeadsKey}\` lists ${[...new Set(counts)].join(', ').slice(0, 80)}`;
  throw invalidFile(
    source.fileName,
    `${listed} for ${layers} layers of ${heads} heads; one number for layers with a window and one for others is read`,
  );
}

/** A layer without a matrix for values uses its keys. */
function readKeysAsValues({ tensors }: DecoderSource, { layers }: LayerHeads): boolean[] | undefined {
  const flags = Array.from({ length: layers }, (_, layer) => {
    const has = (part: string) => tensors.has(`blk.${layer}.${part}.weight`);
    return has('attn_k') && !has('attn_v');
  });
  return flags.includes(true) ? flags : undefined;
}
