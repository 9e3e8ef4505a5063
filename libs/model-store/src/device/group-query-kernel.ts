/**
 * The forms of attention that the kernels of GroupQueryAttention compute right. `group-query.int-spec.ts` compares them
 * with the kernels of the processor and of WebGPU. Windows, sinks and several lengths in a batch need no entry: every kernel takes them.
 */
export const groupQueryKernel = {
  /** Values of a head are a multiple of this. */
  headSizes: 8,
  /** Pairs of a head that rotate are a multiple of this. Other rotations are computed before the operator. */
  rotatedPairs: 8,
  /** Providers whose kernel caps scores. That of WebGPU ignores the attribute and returns wrong numbers. */
  softCaps: ['cpu'] as readonly string[],
};
