import { resolve } from 'node:path';
import { BenchChild, type ChildRun } from '../text/child.contender.js';
import type { BenchWeights } from '../text/weights.js';
import type { ConstrainedPlan } from './plans.js';

/** A child that takes our plans. */
export interface GrammarPeer {
  /** The process that generates. */
  readonly pid: number;
  call(type: 'run', plan: object): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * llama.cpp with its grammars, on prompts as token ids from the tokenizer of transformers.js. Null for models without a
 * GGUF source.
 */
export async function grammarPeer(
  { ggufFile, concatFolder, manifest }: BenchWeights,
  threads: number,
): Promise<GrammarPeer | null> {
  if (ggufFile === null) return null;
  const externalData = manifest.converter.kind === 'gguf';
  const tokenizer = await BenchChild.start(resolve('bench/peers/transformers.mjs'), {
    folder: concatFolder,
    threads,
    externalData,
  });
  const child = await BenchChild.start(resolve('bench/peers/llama.mjs'), { file: ggufFile, threads });
  return {
    pid: child.pid,
    async call(type, plan) {
      const { requests } = plan as ConstrainedPlan;
      const concurrency = requests.length;
      const encoded = (await tokenizer.call(type, { requests, concurrency, encodeOnly: true })) as ChildRun;
      const withIds = requests.map((request, index) => ({ ...request, ids: encoded.promptIds?.[index] ?? [] }));
      return child.call(type, { requests: withIds, concurrency });
    },
    close: async () => {
      await Promise.all([tokenizer.close(), child.close()]);
    },
  };
}
