import { createHash } from 'node:crypto';
import type { EngineSink, EngineStats, TaskEngine, TaskRequest } from '#inference/host';
import type { GenerateInput, GenerateOutput, InterpolateInput, RgbPixels } from '#inference/tasks';

/*
 * Test double of an image model: one color from a hash of prompt and seed, or the first of two frames. `[[delay=MS]]`
 * in a prompt, or `familyOptions.delayMs`, sets how long one image takes.
 */

export interface DeterministicImageGeneratorOptions {
  sink: EngineSink;
  /** Used when the prompt has no delay; default 0. */
  delayMs?: number;
}

/** Color of the image for a prompt and a seed, the same on every machine. */
export function deterministicColour({ prompt, seed }: { prompt: string; seed: number }): number[] {
  return [...createHash('sha256').update(`${seed}/${prompt}`).digest().subarray(0, 3)];
}

export class DeterministicImageGenerator implements TaskEngine {
  readonly oneAtATime = true;
  private readonly cancelled = new Set<string>();
  private work: Promise<void> = Promise.resolve();
  private steps = 0;

  constructor(private readonly options: DeterministicImageGeneratorOptions) {}

  submit(request: TaskRequest): void {
    this.work = this.work.then(() => this.run(request));
  }

  cancel(id: string): void {
    this.cancelled.add(id);
  }

  stats(): EngineStats {
    return { slots: 1, running: 0, waiting: 0, stepsTotal: this.steps, runMsTotal: 0 };
  }

  async close(): Promise<void> {
    await this.work;
  }

  private async run({ id, task, input }: TaskRequest): Promise<void> {
    const { sink, delayMs = 0 } = this.options;
    const until = performance.now() + (delayOf(input) ?? delayMs);
    while (performance.now() < until && !this.cancelled.has(id)) await new Promise((resolve) => setTimeout(resolve, 5));
    this.steps += 1;
    if (this.cancelled.has(id)) return sink([[id, { type: 'task-finished', cancelled: true, output: null }]]);
    const output =
      task === 'interpolate' ? { image: (input as InterpolateInput).first } : generated(input as GenerateInput);
    sink([[id, { type: 'task-finished', cancelled: false, output }]]);
  }
}

function delayOf(input: object): number | null {
  const { prompt = '' } = input as Partial<GenerateInput>;
  const said = /\[\[delay=(\d+)\]\]/.exec(prompt)?.[1];
  return said === undefined ? null : Number(said);
}

function generated({ prompt, seeds, width, height }: GenerateInput): GenerateOutput {
  return { images: seeds.map((seed) => plainImage(width, height, deterministicColour({ prompt, seed }))) };
}

function plainImage(width: number, height: number, colour: number[]): RgbPixels {
  return { width, height, data: Uint8Array.from({ length: width * height * 3 }, (_, at) => colour[at % 3] ?? 0) };
}
