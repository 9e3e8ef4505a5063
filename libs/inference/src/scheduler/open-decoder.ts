import { type DecoderHints, inspectDecoderGraph } from '../runtime/decoder-graph.js';
import type { GraphSession } from '../runtime/graph-session.js';
import { ConcatDecoder } from './concat-decoder.js';
import type { Decoder } from './decoder.js';
import { SplitDecoder } from './split-decoder.js';

/** Prompt tokens computed between two decode steps, unless told otherwise. */
export const defaultChunkTokens = 64;

/**
 * The decoder for a loaded graph, by what its inputs and outputs say. Throws `INVALID_MODEL` for a graph that is none.
 * A `concat` decoder is several times slower than a `split` one: say so in the log.
 */
export function openDecoder(
  session: GraphSession,
  options: { slots: number; hints?: DecoderHints; chunkTokens?: number },
): Decoder {
  const graph = inspectDecoderGraph(session, options.hints);
  if (graph.kind === 'split') return new SplitDecoder(session, graph, options.slots);
  return new ConcatDecoder(session, graph, options.chunkTokens ?? defaultChunkTokens);
}
