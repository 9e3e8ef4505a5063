import { loadFamilyEngine } from '#inference';
import { embeddingTask, type HostLoadOptions, type TaskEngine, type TaskEvent } from '#inference/host';
import { runLanes } from '../text/contender.js';
import type { EmbeddingPlan, EmbeddingTimes } from './embedders.js';

/*
 * Our engine in a process of its own, without HTTP, money and queue: what the platform costs is the difference.
 */

const listeners = new Map<string, (event: TaskEvent) => void>();
let engine: TaskEngine | null = null;
let count = 0;

async function load(options: HostLoadOptions): Promise<null> {
  const loaded = await loadFamilyEngine(options, (events) => {
    for (const [id, event] of events) listeners.get(id)?.(event as TaskEvent);
  });
  engine = loaded.engine as TaskEngine;
  return null;
}

async function run({ requests, callers }: EmbeddingPlan): Promise<EmbeddingTimes> {
  const startedAt = performance.now();
  const requestMs = await runLanes(requests, callers, embed);
  return { ms: performance.now() - startedAt, requestMs };
}

function embed(texts: string[]): Promise<number> {
  const id = `request-${++count}`;
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    listeners.set(id, (event) => {
      if (event.type !== 'task-finished' && event.type !== 'failed') return;
      listeners.delete(id);
      if (event.type === 'failed') reject(new Error(event.error.message));
      else resolve(performance.now() - startedAt);
    });
    engine?.submit({ id, task: embeddingTask, input: { texts, dimensions: null } });
  });
}

process.on('message', (message) => {
  const { type, options } = message as { type: 'load' | 'run'; options: unknown };
  const work = type === 'load' ? load(options as HostLoadOptions) : run(options as EmbeddingPlan);
  work.then(
    (value) => process.send?.({ ok: true, value }),
    (error: unknown) => process.send?.({ ok: false, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ok: true, value: 'hello' });
