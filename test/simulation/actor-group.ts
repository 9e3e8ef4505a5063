import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Failure } from './simulation.js';

/** Work of one process of an actor group: every `stride`th seed. */
export interface Assignment {
  url: string;
  template: string;
  firstSeed: number;
  lastSeed: number;
  stride: number;
  lanes: number;
}

/** Progress since the last report. */
export interface Progress {
  /** Hashes of the choices of its scenarios; equal hashes mean the same interleaving. */
  interleavings: number[];
  steps: number;
  failure: Failure | null;
}

export interface ActorGroupOptions extends Omit<Assignment, 'stride'> {
  processes: number;
  /** Called with each progress report. */
  onProgress: (histogram: ActorGroupCounters) => void;
}

export interface ActorGroupCounters {
  stories: number;
  /** Number of distinct scenarios. */
  distinct: number;
  steps: number;
}

const member = fileURLToPath(new URL('actor.ts', import.meta.url));

/** Runs scenarios in child processes, to use all cores. */
export class ActorGroup {
  private readonly children: ChildProcess[] = [];
  private readonly seen = new Set<number>();
  private stories = 0;
  private steps = 0;
  private failure: Failure | null = null;

  constructor(private readonly options: ActorGroupOptions) {}

  /** Resolves to the first failure, or null when every seed has run. Rejects if a process exits before that. */
  async run(): Promise<Failure | null> {
    const { processes } = this.options;
    await Promise.all(Array.from({ length: processes }, (_, place) => this.assign(place)));
    return this.failure;
  }

  /** Kills all processes. */
  killAll(): void {
    for (const child of this.children) child.kill('SIGKILL');
  }

  private assign(place: number): Promise<void> {
    const { url, template, firstSeed, lastSeed, lanes, processes } = this.options;
    const assignment: Assignment = { url, template, lastSeed, lanes, firstSeed: firstSeed + place, stride: processes };
    // With the options of this process, so that it also runs the sources.
    const child = fork(member, [JSON.stringify(assignment)]);
    this.children.push(child);
    child.on('message', (progress) => this.hear(progress as Progress));
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        if (code === 0 || this.failure !== null) resolve();
        else reject(new Error(`a process of the simulation ended with ${String(code ?? signal)}`));
      });
    });
  }

  private hear({ interleavings, steps, failure }: Progress): void {
    this.stories += interleavings.length;
    this.steps += steps;
    for (const each of interleavings) this.seen.add(each);
    if (failure !== null) {
      this.failure ??= failure;
      this.killAll();
    }
    this.options.onProgress({ stories: this.stories, distinct: this.seen.size, steps: this.steps });
  }
}
