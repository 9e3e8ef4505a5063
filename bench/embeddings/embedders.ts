import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import { Agent, request } from 'undici';
import type { InstalledModel } from '#model-store';
import type { Platform } from '#test/platform';
import { CpuClock } from '../admission/cpu-clock.js';
import { bareLoad } from '../models.js';
import { type BenchSubject, percentile } from '../report.js';
import { BenchChild } from '../text/child.contender.js';
import { runLanes } from '../text/contender.js';
import { peakMebibytes } from '../transcription/peak-memory.js';
import { inRequests, textsOfRound } from './workload.js';

/** Texts of one run. */
export interface EmbeddingPlan {
  requests: string[][];
  /** Concurrent requests. */
  callers: number;
}

export interface EmbeddingTimes {
  ms: number;
  /** Duration of each request. */
  requestMs: number[];
}

export interface Embedder {
  embed(plan: EmbeddingPlan): Promise<EmbeddingTimes>;
  /** Pid of the process with the model. */
  pid(): number;
  close(): Promise<void>;
}

/** Uses HTTP, key, limits, ledger, queue, worker and host, with base64 like the official client. */
export function platformEmbedder(platform: Platform, modelId: string): Embedder {
  const agent = new Agent({ connections: 128, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const ask = async (input: string[]): Promise<number> => {
    const startedAt = performance.now();
    const { statusCode, body } = await request(`${platform.baseUrl}/embeddings`, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: modelId, input, encoding_format: 'base64' }),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`HTTP ${statusCode}: ${text}`);
    return performance.now() - startedAt;
  };
  return {
    embed: async ({ requests, callers }) => {
      const startedAt = performance.now();
      const requestMs = await runLanes(requests, callers, ask);
      return { ms: performance.now() - startedAt, requestMs };
    },
    pid: () => platform.hostPid(modelId),
    close: () => agent.close(),
  };
}

export async function bareEmbedder(model: InstalledModel, threads: number): Promise<Embedder> {
  const module = fileURLToPath(new URL('./bare-embedding.child.js', import.meta.url));
  const load = { ...bareLoad(model, threads), slots: 64, contextLength: 512 };
  return childEmbedder(await BenchChild.start(module, load));
}

/** transformers.js embeds the texts of one request in one padded batch, and requests one after another. */
export async function peerEmbedder({ folder }: InstalledModel, threads: number): Promise<Embedder> {
  return childEmbedder(await BenchChild.start(resolve('bench/peers/transformers-embedding.mjs'), { folder, threads }));
}

function childEmbedder(child: BenchChild): Embedder {
  return {
    embed: async (plan) => (await child.call('run', plan)) as EmbeddingTimes,
    pid: () => child.pid,
    close: () => child.close(),
  };
}

export interface BenchSubjectOptions {
  name: string;
  texts: number;
  perRequest: number;
  callers: number;
}

export function asSubject(embedder: Embedder, { name, texts, perRequest, callers }: BenchSubjectOptions): BenchSubject {
  return {
    name,
    run: async (round) => {
      const requests = inRequests(textsOfRound(round, texts), perRequest);
      const clock = new CpuClock({ model: embedder.pid() });
      const { ms, requestMs } = await embedder.embed({ requests, callers });
      const { model = Number.NaN } = clock.elapsedMs();
      return {
        textsPerSecond: (texts * 1_000) / ms,
        // CPU time of the process with the model: reliable on a shared machine, at least with one thread.
        processorMsPerText: model / texts,
        requestP50Ms: percentile(requestMs, 50),
        requestP95Ms: percentile(requestMs, 95),
        peakMiB: await peakMebibytes(embedder.pid()),
      };
    },
  };
}
