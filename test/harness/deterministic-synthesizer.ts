import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineSink, TaskEngine, TaskRequest } from '#inference/host';
import type { SpeakInput } from '#inference/tasks';
import type { EngineStats } from '#inference/host';

/*
 * Test double of a speech model: a hum for each sentence, or the recording of a cloned voice. A directive in a sentence
 * controls it:
 *
 * - `[[hold=NAME]]` waits until `release(NAME)` is called
 * - `[[delay=MS]]` waits this long
 * - `[[seconds=N]]` sets the length of the hum (default 0.05)
 * - `[[fail]]` fails the sentence
 * - `[[crash]]` ends the process, once
 */

const sampleRate = 24_000;
const pollMs = 5;

/** Releases the sentences that wait for a name. */
export function release(notesFolder: string, name: string): void {
  writeFileSync(join(notesFolder, `release-${name}`), '');
}

/** Sentences generated so far, in order, over all processes. */
export function generatedSentences(notesFolder: string): string[] {
  const path = join(notesFolder, 'said');
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
}

export class DeterministicSynthesizer implements TaskEngine {
  readonly oneAtATime = true;
  private readonly cancelled = new Set<string>();
  private work: Promise<void> = Promise.resolve();
  private steps = 0;

  constructor(
    private readonly sink: EngineSink,
    private readonly notesFolder: string,
  ) {}

  submit(request: TaskRequest): void {
    this.work = this.work.then(() => this.run(request as TaskRequest<SpeakInput>));
  }

  cancel(id: string): void {
    this.cancelled.add(id);
  }

  stats(): EngineStats {
    return { slots: 4, running: 0, waiting: 0, stepsTotal: this.steps, runMsTotal: 0 };
  }

  async close(): Promise<void> {
    await this.work;
  }

  private async run({ id, input }: TaskRequest<SpeakInput>): Promise<void> {
    const { text, voice } = input;
    const directives = new Map([...text.matchAll(/\[\[(\w+)(?:=(\w+))?\]\]/g)].map(([, name, value]) => [name, value]));
    const held = directives.get('hold');
    while (held !== undefined && !existsSync(join(this.notesFolder, `release-${held}`)) && !this.cancelled.has(id)) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
    const until = performance.now() + Number(directives.get('delay') ?? 0);
    while (performance.now() < until && !this.cancelled.has(id)) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
    if (this.cancelled.has(id)) return this.sink([[id, { type: 'task-finished', cancelled: true, output: null }]]);
    if (directives.has('fail')) {
      const error = { code: 'INFERENCE_FAILED', message: 'The model failed.', param: null } as const;
      return this.sink([[id, { type: 'failed', error, usage: null }]]);
    }
    if (directives.has('crash')) this.crashOnce();
    this.steps += 1;
    appendFileSync(join(this.notesFolder, 'said'), `${text}\n`);
    const samples = typeof voice === 'string' ? hum(Number(directives.get('seconds') ?? 0.05)) : voice.samples;
    this.sink([[id, { type: 'task-finished', cancelled: false, output: { samples, sampleRate } }]]);
  }

  private crashOnce(): void {
    const note = join(this.notesFolder, 'speaker-crashed');
    if (existsSync(note)) return;
    writeFileSync(note, '');
    process.kill(process.pid, 'SIGKILL');
  }
}

function hum(seconds: number): Float32Array {
  return Float32Array.from({ length: Math.round(seconds * sampleRate) }, (_, index) => 0.5 * Math.sin(index / 20));
}
