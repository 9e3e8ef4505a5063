import { blockChannels } from './channel-blocks.js';
import { writeCacheInPlace } from './cache-in-place.js';
import { EditedGraph, type GraphFile } from './edited-graph.js';
import { widenHalfTables } from './half-tables.js';

export interface DeviceGraphOptions {
  /** Whether the device computes with half floats. */
  takesHalfFloats: boolean;
  /** Whether the cache of a decoder is to be written in place, where its attention allows that. */
  cacheInPlace: boolean;
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
  { takesHalfFloats, cacheInPlace }: DeviceGraphOptions,
): Promise<DeviceGraphFile | null> {
  const graph = await EditedGraph.open(file);
  if (graph === null) return null;
  if (!takesHalfFloats) await widenHalfTables(graph);
  await blockChannels(graph);
  const isInPlace = cacheInPlace && (await writeCacheInPlace(graph));
  const model = await graph.encode();
  return model === null ? null : { model, cacheInPlace: isInPlace };
}
