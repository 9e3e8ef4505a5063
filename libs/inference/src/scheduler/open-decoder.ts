import { type DecoderHints, inspectDecoderGraph } from '../runtime/decoder-graph.js';
import type { GraphSession } from '../runtime/graph-session.js';
import { ConcatDecoder } from './concat-decoder.js';
import type { Decoder } from './decoder.js';
import { DeviceDecoder } from './device/device-decoder.js';
import { SplitDecoder } from './split-decoder.js';
import type { TokenEmbedder } from './token-embedder.js';
import type { WindowLimits } from './window-positions.js';

/** Default number of prompt tokens computed between two decode steps. */
export const defaultChunkTokens = 64;

/**
 * Creates the decoder that fits a graph's inputs and outputs; with an `embedder`, for a graph that takes embeddings. Throws `INVALID_MODEL` for a graph that is not a decoder.
 * A `concat` decoder is several times slower than a `split` one, which callers should log.
 */
export function openDecoder(
  session: GraphSession,
  options: {
    slots: number;
    hints?: DecoderHints;
    chunkTokens?: number;
    embedder?: TokenEmbedder;
    windowLimits?: WindowLimits;
  },
): Decoder {
  const { embedder = null } = options;
  const graph = inspectDecoderGraph(session, { ...options.hints, takesEmbeddings: embedder !== null });
  const { device } = session;
  if (graph.kind === 'split') {
    // Images whose positions see each other have not been run right there.
    if (device?.hasOwnMemory === true && !graph.seesWholeImages) {
      return DeviceDecoder.resident(session, device, graph, options.slots);
    }
    return new SplitDecoder(session, graph, options.slots, options.windowLimits);
  }
  if (graph.kind === 'device') {
    if (device === undefined) throw new TypeError('The graph needs a session on a device.');
    return DeviceDecoder.inPlace(session, device, graph);
  }
  return new ConcatDecoder(session, graph, { prefixGrain: options.chunkTokens ?? defaultChunkTokens, embedder });
}
