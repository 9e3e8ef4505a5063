import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { MergedDecoder } from '../../recognition/merged-decoder.js';
import { TokenSampler } from '../../sampling/token-sampler.js';
import { DelayedCodes } from './delayed-codes.js';
import type { MusicgenConfig } from './musicgen.config.js';
import type { PromptReader } from './prompt-states.js';

export interface CodeWriterDependencies {
  config: MusicgenConfig;
  reader: PromptReader;
  decoder: MergedDecoder;
}

export interface CodesOptions {
  prompt: string;
  frames: number;
  seed: number;
}

/** Generates the codes of an audio clip step by step, comparing each with the unconditional prediction. */
export class CodeWriter {
  constructor(private readonly dependencies: CodeWriterDependencies) {}

  /** Returns `[codebooks, frames]`. `onStep` receives the steps done and their total. */
  async write(
    { prompt, frames, seed }: CodesOptions,
    { context, onStep }: { context: TaskContext; onStep: (done: number, all: number) => void },
  ): Promise<Int32Array> {
    const { config, reader, decoder } = this.dependencies;
    const { codebooks, vocabularySize, padId, temperature, topK } = config;
    const isCompared = config.guidance > 1;
    const { states, mask, rows } = await reader.read(prompt, { isCompared, context });
    const text = decoder.begin(states, { idRows: rows * codebooks, more: { encoder_attention_mask: mask } });
    const codes = new DelayedCodes({ codebooks, frames, padId });
    const sampler = new TokenSampler({ temperature, topK, seed }, new Int32Array());
    try {
      for (let step = 0; step < codes.steps; step++) {
        await context.yieldToEventLoop();
        const inputs = codes.inputsOf(step);
        const { logits } = await context.measure(() => text.feed(isCompared ? [...inputs, ...inputs] : inputs));
        const guided = isCompared ? this.guided(logits) : logits;
        for (let codebook = 0; codebook < codebooks; codebook++) {
          if (!codes.makes(codebook, step)) continue;
          const row = guided.subarray(codebook * vocabularySize, (codebook + 1) * vocabularySize);
          codes.put(codebook, step, sampler.sample(onlyRow(row), 0));
        }
        onStep(step + 1, codes.steps);
      }
      return codes.all;
    } finally {
      text.release();
    }
  }

  /** Classifier-free guidance (https://arxiv.org/abs/2207.12598): rows with the prompt, then as many without it. */
  private guided(logits: Float32Array): Float32Array {
    const { guidance } = this.dependencies.config;
    const half = logits.length / 2;
    const without = logits.subarray(half);
    return logits.subarray(0, half).map((value, index) => {
      const base = without[index] as number;
      return base + (value - base) * guidance;
    });
  }
}

function onlyRow(logits: Float32Array) {
  return {
    rowIndexes: Int32Array.of(0),
    topValues: null,
    topIds: null,
    topSize: 0,
    logSumExp: null,
    logits,
    vocabularySize: logits.length,
  };
}
