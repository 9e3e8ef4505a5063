import { readFloat16 } from '#common';
import { blockChannels } from './channel-blocks.js';
import { type CacheScales, type FloatCacheType, sumExponentials, writeCacheInPlace } from './cache-in-place.js';
import { EditedGraph, type GraphFile } from './edited-graph.js';
import { multiplyOnDevice } from './plain-products.js';
import { onnxDataTypeCode } from '../onnx/onnx-types.js';

export interface DeviceGraphOptions {
  /** Whether the device computes with half floats. */
  takesHalfFloats: boolean;
  /** The provider on which the cache of a decoder is to be written in place, where its kernels allow that; null: nowhere. */
  cacheInPlaceOn: string | null;
  /** Numbers of that cache; default: float32. */
  cacheType?: FloatCacheType;
  /** Whether integer products stay as they are, which the processor has; default: false. */
  keepsIntegerProducts?: boolean;
  /** Of each layer, for a cache of 8-bit integers in place of floats. */
  cacheScales?: readonly CacheScales[];
}

export interface DeviceGraphFile {
  /** The encoded graph. */
  model: Uint8Array;
  /** Whether it is a decoder whose cache is written in place. */
  cacheInPlace: boolean;
}

/**
 * Returns a graph as a device computes it best, with the same weights and results; null for one that is so already.
 * Its large weights stay in their file, but for those that the device cannot take as they are.
 */
export async function graphForDevice(
  file: GraphFile,
  {
    takesHalfFloats,
    cacheInPlaceOn,
    cacheType = 'float32',
    cacheScales,
    keepsIntegerProducts = false,
  }: DeviceGraphOptions,
): Promise<DeviceGraphFile | null> {
  const graph = await EditedGraph.open(file);
  if (graph === null) return null;
  if (!takesHalfFloats) await widenHalfTables(graph);
  if (!keepsIntegerProducts) await blockChannels(graph);
  // Positions of images that see each other are left as they are: no device has been seen to compute them right.
  const isOurs = graph.inputs.has('past_lens') && !graph.inputs.has('media_groups');
  const isDecoder = isOurs && cacheInPlaceOn !== null && cacheInPlaceOn !== 'cpu';
  const isInPlace =
    cacheInPlaceOn !== null && (await writeCacheInPlace(graph, cacheInPlaceOn, cacheScales ?? cacheType));
  if (!isInPlace) graph.keepInputs();
  if (isDecoder && !isInPlace) sumExponentials(graph);
  if (isDecoder) multiplyOnDevice(graph);
  const model = await graph.encode();
  return model === null ? null : { model, cacheInPlace: isInPlace };
}

/**
 * Turns tables of half floats into floats, where rows are gathered and then turned into floats anyway: a device without
 * half floats cannot read them. The values stay the same. Other half floats are left, and the device says that it lacks
 * them.
 */
async function widenHalfTables(graph: EditedGraph): Promise<void> {
  for (const name of graph.names()) {
    const table = graph.weight(name);
    if (table?.type !== onnxDataTypeCode.float16) continue;
    const readers = graph.consumers(name);
    const casts = readers.map(({ operator, inputs, outputs: [rows] }) => {
      const [cast, ...others] = graph.consumers(rows);
      const isGather = operator === 'Gather' && inputs[0] === name;
      const isWidened = cast?.operator === 'Cast' && cast.integers['to'] === onnxDataTypeCode.float32;
      return isGather && isWidened && others.length === 0 ? cast : undefined;
    });
    const values = casts.length > 0 && casts.every((cast) => cast !== undefined) ? await graph.bytesOf(name) : null;
    if (values === null) continue;
    graph.setWeight(name, 'float32', table.dimensions, float32FromHalf(values));
    for (const cast of casts) {
      if (cast === undefined) continue;
      const { inputs, outputs } = cast;
      graph.replaceNode(cast, { operator: 'Identity', domain: '', inputs, outputs, attributes: {} });
    }
  }
}

function float32FromHalf(bytes: Uint8Array): Float32Array {
  const values = new Float32Array(bytes.length / 2);
  for (let index = 0; index < values.length; index += 1) values[index] = readFloat16(bytes, 2 * index);
  return values;
}
