import { join } from 'node:path';
import type { HostLoadOptions, LoadedAdapters } from '../../contract/engine-loader.js';
import { openGraph } from '../../runtime/open-graph.js';
import type { GraphSession } from '../../runtime/graph-session.js';

/** A graph with its adapters. */
export interface AdaptedSession {
  session: GraphSession;
  /** Numbers of the loaded adapters in the graph, by model id. */
  adapters: ReadonlyMap<string, number>;
  refused: LoadedAdapters['refused'];
}

type Options = Pick<
  HostLoadOptions,
  'directory' | 'graphFile' | 'providers' | 'intraOpThreads' | 'adapters' | 'draftTokens'
>;

/**
 * Opens the graph of a model as it is, or with adapters a graph that computes them too. An adapter that does not fit is
 * left out: its base and the others are served.
 */
export async function openWithAdapters(options: Options): Promise<AdaptedSession> {
  const { directory, graphFile, providers, intraOpThreads, adapters: wanted = [], draftTokens = 0 } = options;
  const picksLogits = draftTokens > 0;
  const settings = { modelPath: join(directory, graphFile), providers, intraOpThreads, isDecoder: true, picksLogits };
  if (wanted.length === 0) return { session: await openGraph(settings), adapters: new Map(), refused: [] };
  // Loaded on demand: most hosts have no adapters.
  const { addAdapters } = await import('#model-store/adapter');
  const { model, adapters, refused } = await addAdapters({ directory, graphFile }, wanted);
  return { session: await openGraph({ ...settings, model }), adapters, refused };
}
