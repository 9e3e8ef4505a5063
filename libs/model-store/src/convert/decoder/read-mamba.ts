import { invalidFile } from '../invalid-file.js';
import type { Mamba } from './decoder-shape.js';
import type { DecoderSource } from './decoder-source.js';
import { kernelLength } from './kernel-length.js';

/** Reads the Mamba 2 layers of a file, which are alike; `layer` is one of them. */
export function readMamba(source: DecoderSource, layer: number): Mamba {
  const { parameters, tensors, fileName } = source;
  const heads = parameters.size('ssm.time_step_rank');
  const smallestStep = parameters.number('ssm.smallest_step', 0);
  const groups = parameters.size('ssm.group_count');
  const width = parameters.size('ssm.inner_size');
  if (width % heads !== 0 || heads % groups !== 0) {
    throw invalidFile(fileName, `${heads} Mamba heads in ${groups} groups do not fit ${width} values`);
  }
  return {
    kind: 'mamba',
    length: kernelLength(source, 'ssm.conv_kernel'),
    heads,
    headSize: width / heads,
    groups,
    stateSize: parameters.size('ssm.state_size'),
    convolutionBias: tensors.has(`blk.${layer}.ssm_conv1d.bias`),
    ...(smallestStep > 0 && { smallestStep }),
    hasNorm: tensors.has(`blk.${layer}.ssm_norm.weight`),
  };
}
