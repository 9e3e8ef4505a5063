import { loadFamilyEngine } from '#inference';
import type { EngineEvent, HostLoadOptions, TaskEngine } from '#inference/host';
import { serveBench } from './bare-child.js';

/** A task engine without HTTP, queue, storage, decoding or encoding. The difference is the overhead of the platform. */
export class BareTasks {
  private readonly listeners = new Map<string, (event: EngineEvent) => void>();
  private engine: TaskEngine | null = null;
  private count = 0;

  async load(options: HostLoadOptions): Promise<{ provider: string; providerNote: string | null }> {
    const loaded = await loadFamilyEngine(options, (events) => {
      for (const [id, event] of events) this.listeners.get(id)?.(event);
    });
    this.engine = loaded.engine as TaskEngine;
    return { provider: loaded.provider, providerNote: loaded.providerNote };
  }

  /** Resolves to the result of a task; rejects if it fails. */
  perform<Output extends object>(task: string, input: object): Promise<Output> {
    const id = `task-${++this.count}`;
    return new Promise((resolve, reject) => {
      this.listeners.set(id, (event) => {
        if (event.type !== 'task-finished' && event.type !== 'failed') return;
        this.listeners.delete(id);
        if (event.type === 'failed') reject(new Error(event.error.message));
        else resolve(event.output as Output);
      });
      this.engine?.submit({ id, task, input });
    });
  }
}

/** Serves a bench with an engine in this process. */
export function serveTasks(run: (tasks: BareTasks, plan: never) => Promise<object>): void {
  const tasks = new BareTasks();
  serveBench(
    (options) => tasks.load(options),
    (plan) => run(tasks, plan),
  );
}
