import { calibrateScales, type Decoder, openDecoder, openGraph } from '#inference';
import { serveBench } from '../bare-child.js';
import { type CellTimes, type GridCell, measureSteps, read, type ReadPrompt, readPrompt } from '../gpu/decode-grid.js';

/* The decoder of a text model in a process of its own, with a cache of some precision. */

/** How the cache is kept: as an input of each run, or in place, in floats or in 8 bits. */
export const cacheKinds = ['split', 'float32', 'int8 per tensor', 'int8 per channel'] as const;

export type CacheKind = (typeof cacheKinds)[number];

export interface CacheLoad {
  modelPath: string;
  kind: CacheKind;
  /** Tokens from which scales are found. */
  calibration: Int32Array;
  threads: number;
  slots: number;
}

/** Texts whose tokens are scored behind some numbers of positions. */
export interface ScorePlan {
  windows: Int32Array[];
  positions: readonly number[];
  /** Tokens that are scored at each. */
  scored: number;
}

/** Cells of decode steps behind a prompt of some positions. */
export interface GridPlan {
  positions: number;
  cells: readonly GridCell[];
  steps: number;
}

export interface GridTimes {
  promptProcessorMs: number;
  cells: CellTimes[];
}

export type CachePlan = { grid: GridPlan } | { score: ScorePlan };

let decoder: Decoder | null = null;
/** Read once: it takes longer than all steps. */
let prompt: ReadPrompt | null = null;

async function load({ modelPath, kind, calibration, threads, slots }: CacheLoad): Promise<void> {
  const graph = { modelPath, providers: ['cpu'], intraOpThreads: threads, spinning: false, isDecoder: true };
  let cacheInPlace: Parameters<typeof openGraph>[0]['cacheInPlace'];
  if (kind === 'float32') cacheInPlace = 'float32';
  else if (kind !== 'split') {
    const session = await openGraph(graph);
    cacheInPlace = await calibrateScales(session, calibration, kind === 'int8 per channel' ? 'channel' : 'tensor');
    await session.release();
  }
  const session = await openGraph({ ...graph, ...(cacheInPlace !== undefined && { cacheInPlace }) });
  decoder = openDecoder(session, { slots });
}

async function run(plan: CachePlan): Promise<GridTimes | number[][]> {
  if (decoder === null) throw new Error('The graph is not loaded.');
  if ('grid' in plan) return await measureGrid(decoder, plan.grid);
  const losses: number[][] = plan.score.positions.map(() => []);
  for (const window of plan.score.windows) {
    for (const [index, found] of (await scoreWindow(decoder, window, plan.score)).entries()) {
      losses[index]?.push(...found);
    }
  }
  return losses;
}

async function measureGrid(decoder: Decoder, { positions, cells, steps }: GridPlan): Promise<GridTimes> {
  prompt ??= await readPrompt(decoder, positions);
  const times: CellTimes[] = [];
  for (const cell of cells) times.push(await measureSteps(decoder, prompt, { ...cell, steps, device: null }));
  return { promptProcessorMs: prompt.processorMs, cells: times };
}

/** The negative natural-log probability of each scored token, for each number of positions. */
async function scoreWindow(
  decoder: Decoder,
  tokens: Int32Array,
  { positions, scored }: ScorePlan,
): Promise<number[][]> {
  const row = decoder.openRow();
  const losses: number[][] = [];
  try {
    for (const [index, position] of positions.entries()) {
      await read(decoder, row, tokens.subarray(row.length, position), index > 0);
      const found: number[] = [];
      for (let step = 0; step < scored; step += 1) {
        const next = tokens[row.length + 1] ?? 0;
        const parts = [{ row, tokenId: tokens[row.length] ?? 0, wantedIds: [next] }];
        const { logSumExp, wanted, wantedSize = 1, rowIndexes } = await decoder.decode(parts, 'top');
        const place = rowIndexes[0] ?? 0;
        found.push((logSumExp?.[place] ?? NaN) - (wanted?.[place * wantedSize] ?? NaN));
      }
      losses.push(found);
    }
  } finally {
    decoder.release(row);
  }
  return losses;
}

serveBench(load, run);
