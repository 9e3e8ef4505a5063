import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import { hostLoadOptions } from '#inference/host';
import { BenchChild, childContender, type ChildRun } from './child.contender.js';
import type { Contender, RunPlan } from './contender.js';
import { PlatformContender } from './platform.contender.js';
import type { BenchWeights } from './weights.js';

export interface BenchPlatformsOptions {
  weights: BenchWeights;
  threads: number;
  port: number;
  slots?: number;
  modelsFolder: string;
  /** Names to start; empty for all. */
  only: string[];
}

export const contenderNames = ['sluice', 'bare', 'transformers.js', 'transformers.js batched', 'llama.cpp'] as const;

/** All contenders. Each has its own processes and is idle while another one runs. */
export interface BenchPlatforms {
  platform: PlatformContender | null;
  contenders: Contender[];
}

/** If one fails to start, those already started are closed. */
export async function startBenchPlatforms(options: BenchPlatformsOptions): Promise<BenchPlatforms> {
  const contenders: Contender[] = [];
  try {
    const platform = await startAll(options, contenders);
    return { platform, contenders };
  } catch (error) {
    await Promise.all(contenders.map((contender) => contender.close()));
    throw error;
  }
}

async function startAll(options: BenchPlatformsOptions, contenders: Contender[]): Promise<PlatformContender | null> {
  const wanted = (name: string) => options.only.length === 0 || options.only.includes(name);
  const platform = wanted('sluice') ? await startPlatform(options) : null;
  if (platform !== null) contenders.push(platform);
  if (wanted('bare')) contenders.push(await startBare(options));
  const transformers = ['transformers.js', 'transformers.js batched'].filter(wanted);
  const { ggufFile } = options.weights;
  const llama = wanted('llama.cpp') && ggufFile !== null;
  if (transformers.length > 0 || llama) {
    const child = await startTransformers(options);
    if (transformers.includes('transformers.js')) contenders.push(oneAtATime(child));
    if (transformers.includes('transformers.js batched'))
      contenders.push(childContender('transformers.js batched', child));
    if (llama) contenders.push(await startLlama(ggufFile, child, options.threads));
  }
  return platform;
}

function startPlatform({
  weights,
  threads,
  slots,
  port,
  modelsFolder,
}: BenchPlatformsOptions): Promise<PlatformContender> {
  return PlatformContender.start({ modelId: weights.manifest.id, modelsFolder, threads, slots, port });
}

async function startBare({ weights, threads, slots }: BenchPlatformsOptions): Promise<Contender> {
  const { manifest, folder } = weights;
  const load = hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads, slots });
  const child = await BenchChild.start(fileURLToPath(new URL('./bare-engine.child.js', import.meta.url)), load);
  return childContender('bare', child);
}

function startTransformers({ weights, threads }: BenchPlatformsOptions): Promise<BenchChild> {
  const externalData = weights.manifest.converter.kind === 'gguf';
  return BenchChild.start(resolve('bench/peers/transformers.mjs'), {
    folder: weights.concatFolder,
    threads,
    externalData,
  });
}

function oneAtATime(child: BenchChild): Contender {
  return childContender('transformers.js', child, ({ requests }) => ({ requests, concurrency: 1 }));
}

/** llama.cpp gets the prompts as token ids from the tokenizer that the others use. */
async function startLlama(file: string, tokenizer: BenchChild, threads: number): Promise<Contender> {
  const child = await BenchChild.start(resolve('bench/peers/llama.mjs'), { file, threads });
  const contender = childContender('llama.cpp', child);
  const run = async ({ requests, concurrency }: RunPlan) => {
    const ids = (await tokenizer.call('run', { requests, concurrency, encodeOnly: true })) as ChildRun;
    const withIds = requests.map((request, index) => ({ ...request, ids: ids.promptIds?.[index] ?? [] }));
    return ((await child.call('run', { requests: withIds, concurrency })) as ChildRun).timings;
  };
  return { ...contender, run };
}
