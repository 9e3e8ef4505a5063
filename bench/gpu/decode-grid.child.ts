import { type Decoder, type GraphSession, openDecoder, openGraph } from '#inference';
import { serveBench } from '../bare-child.js';
import { type CellTimes, type GridCell, measureCell } from './decode-grid.js';

/* The decoder of a text model in a process of its own: steps of the graph, without prompts and sampling. */

interface GridLoad {
  modelPath: string;
  provider: string;
  threads: number;
  /** Most rows of a cell. */
  slots: number;
}

let opened: { session: GraphSession; decoder: Decoder } | null = null;

async function load({ modelPath, provider, threads, slots }: GridLoad) {
  const graph = { modelPath, providers: [provider], intraOpThreads: threads, spinning: false, isDecoder: true };
  const session = await openGraph(graph);
  const decoder = openDecoder(session, { slots });
  opened = { session, decoder };
  const { provider: used, providerNote } = session;
  return { provider: used, providerNote, cache: decoder.kind, cacheBytesPerPosition: cacheBytesOf(session) };
}

/** Returns the bytes that the cache of a row has for one position, in all layers. */
function cacheBytesOf({ inputs }: GraphSession): number {
  const pasts = inputs.filter(({ name }) => name.startsWith('past_key_values.'));
  const sizes = pasts.map(({ type, shape: [, heads, , size] }) => {
    return Number(heads) * Number(size) * (type === 'float16' ? 2 : 4);
  });
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

async function run(cell: GridCell & { steps: number }): Promise<CellTimes> {
  if (opened === null) throw new Error('The graph is not loaded.');
  return await measureCell(opened.decoder, opened.session.device ?? null, cell);
}

serveBench(load, run);
