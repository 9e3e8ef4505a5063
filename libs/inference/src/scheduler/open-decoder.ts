import { type DecoderHints, inspectDecoderGraph } from '../runtime/decoder-graph.js';
import type { GraphSession } from '../runtime/graph-session.js';
import { ConcatDecoder } from './concat-decoder.js';
import type { Decoder } from './decoder.js';
import { SplitDecoder } from './split-decoder.js';

/** Default number of prompt tokens computed between two decode steps. */
export const defaultChunkTokens = 64;

/**
 * Creates the decoder that fits a graph's inputs and outputs. Throws `INVALID_MODEL` for a graph that is not a decoder.
 * A `concat` decoder is several times slower than a `split` one, which callers should log.
 */
export function openDecoder(
  session: GraphSession,
  options: { slots: number; hints?: DecoderHints; chunkTokens?: number },
): Decoder {
  const graph = inspectDecoderGraph(session, options.hints);
  if (graph.kind === 'split') return new SplitDecoder(session, graph, options.slots);
  return new ConcatDecoder(session, graph, options.chunkTokens ?? defaultChunkTokens);
}
