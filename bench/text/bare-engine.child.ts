import { loadFamilyEngine, type TextGenerationEngine, type TextGenerationEvent } from '#inference';
import type { HostLoadOptions } from '#inference/host';
import { serveBench } from '../bare-child.js';
import type { ChildRun } from './child.contender.js';
import { runLanes, type RunPlan, sharedNowMs } from './contender.js';
import type { StreamTiming } from './timing.js';
import type { BenchRequest } from './workload.js';

/* Our engine in a process of its own, without HTTP, queue or stream. The difference is the overhead of the platform. */

const listeners = new Map<string, (event: TextGenerationEvent) => void>();
let engine: TextGenerationEngine | null = null;

async function load(options: HostLoadOptions): Promise<object> {
  const loaded = await loadFamilyEngine(options, (events) => {
    for (const [id, event] of events) listeners.get(id)?.(event as TextGenerationEvent);
  });
  engine = loaded.engine as TextGenerationEngine;
  return { provider: loaded.provider, providerNote: loaded.providerNote };
}

async function run({ requests, concurrency }: RunPlan): Promise<ChildRun> {
  const startMs = sharedNowMs();
  return { timings: await runLanes(requests, concurrency, (request) => generate(request, startMs)) };
}

function generate({ id, prompt, maxTokens }: BenchRequest, startMs: number): Promise<StreamTiming> {
  return new Promise((resolve, reject) => {
    const pieceMs: number[] = [];
    listeners.set(id, (event) => {
      if (event.type === 'text-delta') pieceMs.push(sharedNowMs());
      if (event.type === 'failed') reject(new Error(event.error.message));
      if (event.type !== 'finished') return;
      listeners.delete(id);
      const { completionTokens, promptTokens } = event.usage;
      resolve({ startMs, pieceMs, tokens: completionTokens, promptTokens });
    });
    engine?.submit({
      id,
      prompt: { messages: [{ role: 'user', content: prompt }] },
      n: 1,
      sampling: { temperature: 0 },
      maxTokens,
      stop: [],
      stopTokenIds: [],
      topLogprobs: null,
    });
  });
}

serveBench(load, run);
