import { type Decoder, openDecoder, openGraph } from '#inference';
import type { Figures } from '../report.js';

/** Tokens of a round, each behind `context` tokens. */
export interface Workload {
  context: number;
  chunks: number;
  steps: number;
}

export interface DecoderLoad extends Workload {
  modelPath: string;
  threads: number;
}

const chunkTokens = 64;

type CacheRow = ReturnType<Decoder['openRow']>;

/**
 * Processor time per token, of prompt chunks and of steps of one row, in both cases behind the same context. Other
 * processes take time of the wall clock, and less of this.
 */
export class DecoderRun {
  private constructor(
    private readonly decoder: Decoder,
    private readonly context: CacheRow,
    private readonly workload: Workload,
  ) {}

  static async open({ modelPath, threads, ...workload }: DecoderLoad): Promise<DecoderRun> {
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: threads });
    const decoder = openDecoder(session, { slots: 1 });
    const row = decoder.openRow();
    for (let length = 0; length < workload.context; length += chunkTokens) await read(decoder, row, chunkTokens);
    return new DecoderRun(decoder, row, workload);
  }

  async round(): Promise<Figures> {
    const { decoder, workload } = this;
    const prompt = this.openRow();
    const prefillMs = await processorMs(async () => {
      for (let index = 0; index < workload.chunks; index++) await read(decoder, prompt, chunkTokens);
    });
    decoder.release(prompt);
    const row = this.openRow();
    await decoder.prefill([{ row, tokenIds: Int32Array.of(1), final: true }], 'top');
    const decodeMs = await processorMs(async () => {
      for (let step = 0; step < workload.steps; step++) await decoder.decode([{ row, tokenId: step % 90 }], 'top');
    });
    decoder.release(row);
    return { prefillMs: prefillMs / (workload.chunks * chunkTokens), decodeMs: decodeMs / workload.steps };
  }

  private openRow(): CacheRow {
    const row = this.decoder.openRow();
    this.decoder.copyPrefix({ from: this.context, to: row, length: this.context.length });
    return row;
  }
}

async function read(decoder: Decoder, row: CacheRow, tokens: number): Promise<void> {
  const tokenIds = Int32Array.from({ length: tokens }, (_, index) => (index * 7) % 90);
  await decoder.prefill([{ row, tokenIds, final: false }], 'none');
}

async function processorMs(work: () => Promise<void>): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}
