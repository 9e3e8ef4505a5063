import { type ChildProcess, fork } from 'node:child_process';
import { endProcess } from '#test/end-process';
import type { Contender, RunPlan } from './contender.js';
import { residentBytesOfTree } from './resident-memory.js';
import type { StreamTiming } from './timing.js';

interface ChildMessage {
  ok: boolean;
  value: unknown;
  error?: string;
}

export interface ChildRun {
  timings: StreamTiming[];
  /** Token ids of the prompts, if the child provides them. */
  promptIds?: number[][];
}

/** A process that handles `load` and `run` over its channel, one command at a time. */
export class BenchChild {
  /** Its report after loading; our own engine names the provider it uses. */
  loaded: unknown = null;

  private constructor(private readonly child: ChildProcess) {}

  static async start(modulePath: string, loadOptions: object): Promise<BenchChild> {
    const child = fork(modulePath, [], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const self = new BenchChild(child);
    await self.answer();
    self.loaded = await self.call('load', loadOptions);
    return self;
  }

  async call(type: 'load' | 'run', options: object): Promise<unknown> {
    const answer = this.answer();
    this.child.send({ type, options });
    return answer;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  residentBytes(): Promise<number> {
    return residentBytesOfTree(this.pid);
  }

  async close(): Promise<void> {
    await endProcess(this.child);
  }

  private answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`the process of a contender ended (${code})`));
      this.child.once('exit', onExit);
      this.child.once('message', (message) => {
        this.child.off('exit', onExit);
        const { ok, value, error } = message as ChildMessage;
        if (ok) resolve(value);
        else reject(new Error(error));
      });
    });
  }
}

/** A contender in a child process; `prepare` converts a plan into the argument of the child's `run`. */
export function childContender(
  name: string,
  child: BenchChild,
  prepare: (plan: RunPlan) => object = (plan) => plan,
): Contender {
  return {
    name,
    run: async (plan) => ((await child.call('run', prepare(plan))) as ChildRun).timings,
    residentBytes: () => child.residentBytes(),
    close: () => child.close(),
  };
}
