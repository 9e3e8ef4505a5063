import { loadFamilyEngine } from '#inference';
import type { EngineEvent, HostLoadOptions, TaskEngine } from '#inference/host';

/*
 * Our engine in a process of its own, without HTTP, queue, storage, decoding or encoding: what the platform costs is the
 * difference. Tasks run one after another, as the worker asks for them.
 */

const listeners = new Map<string, (event: EngineEvent) => void>();
let engine: TaskEngine | null = null;
let tasks = 0;

async function load(options: HostLoadOptions): Promise<null> {
  const loaded = await loadFamilyEngine(options, (events) => {
    for (const [id, event] of events) listeners.get(id)?.(event);
  });
  engine = loaded.engine as TaskEngine;
  return null;
}

interface TaskRuns {
  task: string;
  inputs: object[];
}

async function run({ task, inputs }: TaskRuns): Promise<{ ms: number }> {
  const startedAt = performance.now();
  for (const input of inputs) await finished(task, input);
  return { ms: performance.now() - startedAt };
}

function finished(task: string, input: object): Promise<void> {
  const id = `task-${++tasks}`;
  return new Promise((resolve, reject) => {
    listeners.set(id, (event) => {
      if (event.type !== 'task-finished' && event.type !== 'failed') return;
      listeners.delete(id);
      if (event.type === 'failed') reject(new Error(event.error.message));
      else resolve();
    });
    engine?.submit({ id, task, input });
  });
}

process.on('message', (message) => {
  const { type, options } = message as { type: 'load' | 'run'; options: unknown };
  const work = type === 'load' ? load(options as HostLoadOptions) : run(options as TaskRuns);
  work.then(
    (value) => process.send?.({ ok: true, value }),
    (error: unknown) => process.send?.({ ok: false, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ok: true, value: 'hello' });
