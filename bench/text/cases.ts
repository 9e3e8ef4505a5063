import { type BenchCase, mixedCase, type ModelShape, prefixCase, type PrefixCase, streamsCase } from './workload.js';

export interface CaseSet {
  cases: BenchCase[];
  prefix: PrefixCase | null;
}

/** Cases of a model: short contexts, long ones, a mixed load, and a reused prefix if the context is large enough. */
export function casesFor(contextLength: number, quick: boolean): CaseSet {
  const small = contextLength < 512;
  const shape: ModelShape = { contextLength, outputTokens: small ? 96 : 64 };
  if (quick) return { cases: [streamsCase(4, 16, { ...shape, outputTokens: 16 }), mixedCase(shape, 16)], prefix: null };
  const long: ModelShape = { contextLength, outputTokens: 32 };
  const longPrompt = small ? 160 : 1_024;
  return {
    cases: [
      ...[1, 4, 16, 32].map((streams) => streamsCase(streams, 48, shape)),
      streamsCase(4, longPrompt, long),
      mixedCase(shape),
    ],
    prefix: small ? null : prefixCase(500, 24),
  };
}
