import { loadFamilyEngine, type TextGenerationEngine, type TextGenerationEvent } from '#inference';
import type { HostLoadOptions } from '#inference/host';
import { serveBench } from '../bare-child.js';
import { runLanes, sharedNowMs } from '../text/contender.js';
import type { StreamTiming } from '../text/timing.js';
import type { ConstrainedPlan, ConstrainedRequest } from './plans.js';

/* Our engine in a process of its own. The same engine generates with and without constraints. */

const listeners = new Map<string, (event: TextGenerationEvent) => void>();
let engine: TextGenerationEngine | null = null;

async function load(options: HostLoadOptions): Promise<null> {
  const loaded = await loadFamilyEngine(options, (events) => {
    for (const [id, event] of events) listeners.get(id)?.(event as TextGenerationEvent);
  });
  engine = loaded.engine as TextGenerationEngine;
  return null;
}

async function run({ requests }: ConstrainedPlan): Promise<{ timings: StreamTiming[] }> {
  return { timings: await runLanes(requests, requests.length, generate) };
}

function generate({ id, prompt, maxTokens, schema, temperature }: ConstrainedRequest): Promise<StreamTiming> {
  return new Promise((resolve, reject) => {
    const startMs = sharedNowMs();
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
      sampling: temperature === 0 ? { temperature } : { temperature, seed: 1 },
      maxTokens,
      stop: [],
      stopTokenIds: [],
      topLogprobs: null,
      ...(schema === null ? {} : { constraint: { type: 'json-schema', schema, param: 'schema' } }),
    });
  });
}

serveBench(load, run);
