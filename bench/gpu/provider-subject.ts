import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorText } from '#common/values';
import { readNvidiaDriver } from '#platform/devices';
import type { InstalledModel } from '#model-store';
import type { EmbeddingTimes } from '../embeddings/embedders.js';
import { inRequests, textsOfRound } from '../embeddings/workload.js';
import { patterned } from '../media/patterned.js';
import { bareLoad } from '../models.js';
import type { BenchSubject, Figures } from '../report.js';
import { BenchChild, type ChildRun } from '../text/child.contender.js';
import { residentBytesOfTree } from '../text/resident-memory.js';
import { summarizeRun } from '../text/timing.js';
import { promptOf } from '../text/workload.js';
import type { CellTimes, GridCell } from './decode-grid.js';

export interface ProviderModels {
  text: InstalledModel;
  embedding: InstalledModel;
  image: InstalledModel;
}

/** How the models of a provider are loaded and run. */
export interface ProviderPlan {
  provider: string;
  models: ProviderModels;
  threads: number;
  outputTokens: number;
  /** Cells of the grid, and the decode steps of each. */
  cells: readonly GridCell[];
  steps: number;
}

/** Figures of a cell begin with it. */
export function cellName({ streams, positions }: GridCell): string {
  return `${streams}x${positions}`;
}

type Children = Record<'text' | 'grid' | 'embedding' | 'image', BenchChild>;

const texts = 128;
/** Texts that the engine writes at once. */
const manyTexts = 16;
const [width, height] = [320, 240];
const bytesPerMebibyte = 2 ** 20;
const bytesPerGigabyte = 1e9;

/** Text, embeddings and an image on one execution provider, each model in a process of its own. */
export class ProviderBenchSubject implements BenchSubject {
  readonly name: string;

  private constructor(
    private readonly plan: ProviderPlan,
    private readonly children: Children,
  ) {
    this.name = plan.provider;
  }

  /** Rejects if a model does not run on the provider, since its figures would belong to another one. */
  static async start(plan: ProviderPlan): Promise<ProviderBenchSubject> {
    const { models, provider, threads, cells } = plan;
    const { text } = models;
    const contextLength = text.manifest.contextLength ?? 256;
    const more = { slots: manyTexts, contextLength, cacheTokens: manyTexts * contextLength };
    const children: Partial<Children> = {};
    const start = async (name: keyof Children, file: string, load: object, modelId: string): Promise<void> => {
      const child = await BenchChild.start(fileURLToPath(new URL(file, import.meta.url)), load);
      children[name] = child;
      const used = child.loaded as { provider: string; providerNote: string | null };
      if (used.provider !== provider) {
        throw new Error(`${modelId} does not run on ${provider}: ${used.providerNote}`);
      }
    };
    const ofModel = async (name: 'text' | 'embedding' | 'image', file: string, bounds: object = {}): Promise<void> => {
      const load = { ...bareLoad(models[name], threads), providers: [provider], ...bounds };
      await start(name, file, load, models[name].manifest.id);
    };
    const slots = Math.max(...cells.map(({ streams }) => streams));
    const modelPath = join(text.folder, text.manifest.graphFile);
    try {
      await ofModel('text', '../text/bare-engine.child.js', more);
      await start('grid', './decode-grid.child.js', { modelPath, provider, threads, slots }, text.manifest.id);
      await ofModel('embedding', '../embeddings/bare-embedding.child.js', { slots: 64, contextLength: 512 });
      await ofModel('image', '../media/bare-tasks.child.js');
    } catch (error) {
      for (const child of Object.values(children)) await child.close();
      throw error;
    }
    return new ProviderBenchSubject(plan, children as Children);
  }

  async run(round: number): Promise<Figures> {
    return {
      ...(await this.write(round)),
      ...(await this.step()),
      ...(await this.embed(round)),
      ...(await this.draw()),
      ...(await this.memory()),
    };
  }

  async close(): Promise<void> {
    for (const child of Object.values(this.children)) await child.close();
  }

  /** Short texts by the engine: what the steps of the grid take, and what is around them. */
  private async write(round: number): Promise<Figures> {
    const rateOf = async (concurrency: number): Promise<number> => {
      const requests = Array.from({ length: concurrency }, (_, index) => ({
        id: `${round}-${concurrency}-${index}`,
        prompt: promptOf(16, round * 1_000 + concurrency * 100 + index),
        maxTokens: this.plan.outputTokens,
      }));
      const { timings } = (await this.children.text.call('run', { requests, concurrency })) as ChildRun;
      return summarizeRun(timings).tokensPerSecond;
    };
    return { oneTokensPerSecond: await rateOf(1), manyTokensPerSecond: await rateOf(manyTexts) };
  }

  /** Decode steps over caches of some lengths. What a step reads at least are the weights once, and the caches. */
  private async step(): Promise<Figures> {
    const { cells, steps, models, provider } = this.plan;
    const { cacheBytesPerPosition } = this.children.grid.loaded as { cacheBytesPerPosition: number };
    const weights = weightBytes(models.text);
    const figures: Figures = {};
    for (const cell of cells) {
      const name = cellName(cell);
      try {
        const { stepMs, busBytesPerToken } = (await this.children.grid.call('run', { ...cell, steps })) as CellTimes;
        const read = weights + cell.streams * cell.positions * cacheBytesPerPosition;
        figures[`${name}StepMs`] = stepMs;
        figures[`${name}GBPerSecond`] = (1_000 * read) / stepMs / bytesPerGigabyte;
        if (busBytesPerToken !== null) figures[`${name}BusBytesPerToken`] = busBytesPerToken;
      } catch (error) {
        process.stderr.write(`${provider} ${name} is left out: ${errorText(error)}\n`);
      }
    }
    return figures;
  }

  private async embed(round: number): Promise<Figures> {
    const requests = inRequests(textsOfRound(round, texts), 16);
    const { ms } = (await this.children.embedding.call('run', { requests, callers: 8 })) as EmbeddingTimes;
    return { textsPerSecond: (1_000 * texts) / ms };
  }

  private async draw(): Promise<Figures> {
    const image = { width, height, data: patterned(width, height) };
    const plan = { task: 'upscale', inputs: [{ image, scale: 2 }] };
    const { ms } = (await this.children.image.call('run', plan)) as { ms: number };
    return { imageMs: ms };
  }

  /** GPU memory of the processes together; omitted if a container hides it. */
  private async memory(): Promise<Figures> {
    const pids = Object.values(this.children).map(({ pid }) => pid);
    const resident = await Promise.all(pids.map(residentBytesOfTree));
    const figures: Figures = { mainMiB: resident.reduce((sum, bytes) => sum + bytes, 0) / bytesPerMebibyte };
    const devices = (await readNvidiaDriver())?.devices ?? [];
    const taken = devices.flatMap(({ usedByPid }) => pids.flatMap((pid) => usedByPid.get(pid) ?? []));
    if (taken.length > 0) figures.deviceMiB = taken.reduce((sum, bytes) => sum + bytes, 0) / bytesPerMebibyte;
    return figures;
  }
}

/** Returns the bytes of the graph and of the files beside it. */
function weightBytes({ manifest: { graphFile }, record }: InstalledModel): number {
  const files = record.files.filter(({ path }) => path.startsWith(graphFile));
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}
