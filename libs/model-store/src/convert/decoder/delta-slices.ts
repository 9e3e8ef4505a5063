import { convolvedChannels, type GatedDelta, type LayerPart } from './decoder-shape.js';
import type { RowGroups } from './grouped-rows.js';

/** Where a part of a layer is: its own tensor, or groups of rows in one that holds several. */
export interface DeltaPart {
  part: LayerPart;
  rows: number;
  tensor?: string;
  groups?: RowGroups;
}

/**
 * Returns the linear layers before the recurrence. Qwen3-Next stores queries, keys, values and gates of each key head as
 * one tensor, and the rates and decays of its value heads as another; its GGUF files split the first one.
 */
export function deltaParts(
  layer: number,
  mixer: GatedDelta,
  { hiddenSize, has }: { hiddenSize: number; has: (tensor: string) => boolean },
): DeltaPart[] {
  const { keyHeads, keySize, valueHeads, valueSize } = mixer;
  const values = (valueHeads / keyHeads) * valueSize;
  const heads = valueHeads / keyHeads;
  const [projections, gates] = [`blk.${layer}.ssm_in`, `blk.${layer}.ssm_ba`];
  const inProjections = has(`${projections}.weight`)
    ? { tensor: projections, groups: { groups: keyHeads, rows: 2 * (keySize + values) } }
    : null;
  const inGates = has(`${gates}.weight`) ? { tensor: gates, groups: { groups: keyHeads, rows: 2 * heads } } : null;
  const pick = (
    fused: typeof inProjections,
    pieces: RowGroups['pieces'],
  ): Pick<DeltaPart, 'tensor' | 'groups'> | null =>
    fused && { tensor: fused.tensor, groups: { ...fused.groups, pieces } };
  const mixed = [
    { from: 0, rows: keySize },
    { from: keySize, rows: keySize },
    { from: 2 * keySize, rows: values },
  ];
  return [
    { part: 'delta_in', rows: convolvedChannels(mixer, hiddenSize), ...pick(inProjections, mixed) },
    {
      part: 'delta_gate',
      rows: valueHeads * valueSize,
      ...pick(inProjections, [{ from: 2 * keySize + values, rows: values }]),
    },
    { part: 'delta_rate', rows: valueHeads, ...pick(inGates, [{ from: 0, rows: heads }]) },
    { part: 'delta_decay', rows: valueHeads, ...pick(inGates, [{ from: heads, rows: heads }]) },
  ];
}
