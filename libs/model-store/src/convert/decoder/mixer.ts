import type { ValueName } from '../../onnx/index.js';
import type { Mixer, NoMixer } from './decoder-shape.js';
import { emitGatedDelta } from './gated-delta.js';
import { emitMamba } from './mamba.js';
import type { LayerStates, MixerBody } from './mixer-body.js';
import { emitShortConvolution } from './short-convolution.js';

export type { LayerStates } from './mixer-body.js';

/** Adds the replacement of attention in a layer, for the input `[batch, sequence, hidden]`. */
export function emitMixer(
  body: MixerBody,
  { mixer, ...rest }: { layer: number; mixer: Exclude<Mixer, NoMixer>; input: ValueName; states: LayerStates },
): ValueName {
  if (mixer.kind === 'gated-delta') return emitGatedDelta(body, { mixer, ...rest });
  if (mixer.kind === 'mamba') return emitMamba(body, { mixer, ...rest });
  return emitShortConvolution(body, { mixer, ...rest });
}
