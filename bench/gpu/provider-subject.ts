import { fileURLToPath } from 'node:url';
import { readNvidiaDriver } from '#platform/devices';
import type { InstalledModel } from '#model-store';
import type { EmbeddingTimes } from '../embeddings/embedders.js';
import { inRequests, textsOfRound } from '../embeddings/workload.js';
import { patterned } from '../media/patterned.js';
import { bareLoad } from '../models.js';
import { type BenchSubject, type Figures, median } from '../report.js';
import { BenchChild, type ChildRun } from '../text/child.contender.js';
import { residentBytesOfTree } from '../text/resident-memory.js';
import { summarizeRun } from '../text/timing.js';
import { promptOf } from '../text/workload.js';

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
  /** Concurrent texts. */
  streams: number;
  outputTokens: number;
}

const texts = 128;
const [width, height] = [320, 240];
const bytesPerMebibyte = 2 ** 20;

/** Text, embeddings and an image on one execution provider, each model in a process of its own. */
export class ProviderBenchSubject implements BenchSubject {
  readonly name: string;

  private constructor(
    private readonly plan: ProviderPlan,
    private readonly children: { text: BenchChild; embedding: BenchChild; image: BenchChild },
  ) {
    this.name = plan.provider;
  }

  /** Rejects if a model does not run on the provider, since its figures would belong to another one. */
  static async start(plan: ProviderPlan): Promise<ProviderBenchSubject> {
    const { models, provider, threads, streams } = plan;
    const contextLength = models.text.manifest.contextLength ?? 256;
    const more = { slots: streams, contextLength, cacheTokens: streams * contextLength };
    const start = async (file: string, model: InstalledModel, bounds: object = {}): Promise<BenchChild> => {
      const load = { ...bareLoad(model, threads), providers: [provider], ...bounds };
      const child = await BenchChild.start(fileURLToPath(new URL(file, import.meta.url)), load);
      const used = child.loaded as { provider: string; providerNote: string | null };
      if (used.provider === provider) return child;
      await child.close();
      throw new Error(`${model.manifest.id} does not run on ${provider}: ${used.providerNote}`);
    };
    const embeddingBounds = { slots: 64, contextLength: 512 };
    return new ProviderBenchSubject(plan, {
      text: await start('../text/bare-engine.child.js', models.text, more),
      embedding: await start('../embeddings/bare-embedding.child.js', models.embedding, embeddingBounds),
      image: await start('../media/bare-tasks.child.js', models.image),
    });
  }

  async run(round: number): Promise<Figures> {
    return {
      ...(await this.write(round)),
      ...(await this.embed(round)),
      ...(await this.draw()),
      ...(await this.memory()),
    };
  }

  async close(): Promise<void> {
    for (const child of Object.values(this.children)) await child.close();
  }

  /**
   * The extra cost of a step with a long cache is attention plus, if the cache crosses the bus on every step, its copy.
   * Providers do not report the two separately; on a GPU attention is the small part.
   */
  private async write(round: number): Promise<Figures> {
    const { streams, outputTokens, models } = this.plan;
    const longest = (models.text.manifest.contextLength ?? 256) - 2 * outputTokens;
    const timingsOf = async (promptTokens: number, concurrency: number) => {
      const requests = Array.from({ length: concurrency }, (_, index) => ({
        id: `${round}-${promptTokens}-${index}`,
        prompt: promptOf(promptTokens, round * 1_000 + promptTokens + index),
        maxTokens: outputTokens,
      }));
      const { timings } = (await this.children.text.call('run', { requests, concurrency })) as ChildRun;
      return timings;
    };
    const stepMs = async (promptTokens: number): Promise<number> =>
      median((await timingsOf(promptTokens, streams)).flatMap(({ pieceMs }) => differences(pieceMs)));
    const one = summarizeRun(await timingsOf(16, 1));
    const many = summarizeRun(await timingsOf(16, streams));
    const [short, long] = [await stepMs(8), await stepMs(longest)];
    return {
      oneTokensPerSecond: one.tokensPerSecond,
      manyTokensPerSecond: many.tokensPerSecond,
      stepMs: short,
      longCacheMsPerStep: long - short,
    };
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

  /** GPU memory of the three processes together; omitted if a container hides it. */
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

function differences(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? time));
}
