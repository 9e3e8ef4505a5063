import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ExpectedJobs } from './load.js';

export type WorkerKind = 'raw' | 'sluice';

/** Messages of the worker process: ready to count, first job picked up, all expected jobs completed. */
export type WorkerMessage = { kind: 'ready' | 'completed' } | { kind: 'picked-up'; atMs: number };

/** Request to count this many jobs. */
export interface WorkerRequest {
  expect: number;
}

/** A worker in a separate process, as in production: it shares no event loop with the producer. */
export class WorkerLink {
  private onPickup: (atMs: number) => void = () => undefined;
  private onCompleted: () => void = () => undefined;
  private onReady: () => void = () => undefined;

  private constructor(private readonly child: ReturnType<typeof fork>) {
    child.on('message', (message: WorkerMessage) => {
      if (message.kind === 'picked-up') this.onPickup(message.atMs);
      else if (message.kind === 'completed') this.onCompleted();
      else this.onReady();
    });
  }

  static async start(kind: WorkerKind, url: string, namespace: string): Promise<WorkerLink> {
    const script = fileURLToPath(new URL('./worker-process.js', import.meta.url));
    const child = fork(script, [kind, url, namespace]);
    const ended = once(child, 'exit').then(() => {
      throw new Error('the worker process of the bench ended');
    });
    await Promise.race([once(child, 'message'), ended]);
    ended.catch(() => undefined);
    return new WorkerLink(child);
  }

  /** Resolves when the worker counts from zero. */
  async expect(jobs: number): Promise<ExpectedJobs> {
    const pickedUp = new Promise<number>((resolve) => {
      this.onPickup = resolve;
    });
    const done = new Promise<void>((resolve) => {
      this.onCompleted = resolve;
    });
    const ready = new Promise<void>((resolve) => {
      this.onReady = resolve;
    });
    this.child.send({ expect: jobs } satisfies WorkerRequest);
    await ready;
    return { pickedUp, done };
  }

  async close(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.disconnect();
    await ended;
  }
}
