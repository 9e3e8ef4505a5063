import { invalidFile } from '../invalid-file.js';
import type { Architecture } from './architecture.js';
import type { DecoderShape, GatedDelta, Mixer } from './decoder-shape.js';
import type { DecoderSource } from './decoder-source.js';
import { kernelLength } from './kernel-length.js';
import { keyValueHeadsKey } from './read-heads.js';
import { readMamba } from './read-mamba.js';

type ReadMixers = Pick<DecoderShape, 'mixers'> & { keyValueHeads?: number };

/** No model comes near it, and lists with an entry per layer follow. */
export const maxLayers = 4096;

/** Returns the number of layers that compute a token, without those behind them that only guess the tokens after it. */
export function countLayers({ parameters, fileName }: Pick<DecoderSource, 'parameters' | 'fileName'>): number {
  const blocks = parameters.size('block_count');
  if (blocks > maxLayers) throw invalidFile(fileName, `its block_count is ${blocks}, more than ${maxLayers}`);
  const guessing = parameters.number('nextn_predict_layers', 0);
  if (Number.isSafeInteger(guessing) && guessing >= 0 && guessing < blocks) return blocks - guessing;
  throw invalidFile(fileName, `${guessing} of its ${blocks} layers guess later tokens`);
}

/** Reads the replacements of attention in the layers of an architecture. Empty if all layers attend. */
export function readMixers(source: DecoderSource, architecture: Architecture, layers: number): ReadMixers {
  const { mixer, groupedHeads, attentionFree, besideAttention, oneHalf } = architecture;
  if (mixer === 'short-convolution') return readListed(source, layers, convolutionReader(source));
  if (mixer === 'mamba' && (attentionFree || besideAttention)) {
    const beside = besideAttention && { besideAttention };
    return { mixers: Array.from({ length: layers }, (_, layer) => ({ ...readMamba(source, layer), ...beside })) };
  }
  if (mixer === 'mamba') {
    const isMamba = (layer: number) => !oneHalf || source.tensors.has(`blk.${layer}.ssm_in.weight`);
    return readListed(source, layers, (layer) => (isMamba(layer) ? readMamba(source, layer) : { kind: 'none' }));
  }
  const headOrder = source.headOrder ?? (groupedHeads ? 'grouped' : 'tiled');
  return mixer === 'gated-delta' ? { mixers: readDeltas({ ...source, headOrder }, layers) } : {};
}

/** Layers without key-value heads do not attend; `read` is called for each of them. */
function readListed(source: DecoderSource, layers: number, read: (layer: number) => Mixer): ReadMixers {
  const { parameters, fileName, architecture } = source;
  const counts = parameters.listedNumbers(keyValueHeadsKey);
  if (counts === null) return {};
  const [first = 0] = counts;
  if (first !== 0 && counts.every((count) => count === first)) return { keyValueHeads: first };
  const [keyValueHeads = 0, ...others] = new Set(counts.filter((count) => count !== 0));
  if (counts.length !== layers || others.length > 0 || !Number.isSafeInteger(keyValueHeads) || keyValueHeads < 1) {
    const listed = `its \`${architecture}.${keyValueHeadsKey}\` lists ${[...new Set(counts)].join(', ').slice(0, 80)}`;
    throw invalidFile(
      fileName,
      `${listed} for ${layers} layers; one size, and 0 for layers that do not attend, is read`,
    );
  }
  return { mixers: counts.map((count, layer) => (count === 0 ? read(layer) : null)), keyValueHeads };
}

function convolutionReader(source: DecoderSource): (layer: number) => Mixer {
  return (layer) => ({
    kind: 'short-convolution',
    length: kernelLength(source, 'shortconv.l_cache'),
    bias: source.tensors.has(`blk.${layer}.shortconv.in_proj.bias`),
  });
}

/** Layers are listed, or every n-th attends. */
function readDeltas(source: DecoderSource, layers: number): DecoderShape['mixers'] {
  const { parameters, fileName } = source;
  const every = parameters.size('full_attention_interval', 4);
  const isRecurrent =
    parameters.optionalFlags('attention.recurrent_layers')?.slice(0, layers) ??
    Array.from({ length: layers }, (_, layer) => (layer + 1) % every !== 0);
  if (isRecurrent.length !== layers || !isRecurrent.includes(false)) {
    const attending = isRecurrent.filter((recurrent) => !recurrent).length;
    throw invalidFile(fileName, `${attending} of its ${layers} layers attend, of ${isRecurrent.length} listed`);
  }
  const delta = readDelta(source);
  return isRecurrent.includes(true) ? isRecurrent.map((recurrent) => (recurrent ? delta : null)) : undefined;
}

function readDelta(source: DecoderSource): GatedDelta {
  const { parameters, fileName, headOrder = 'tiled' } = source;
  const keyHeads = parameters.size('ssm.group_count');
  const valueHeads = parameters.size('ssm.time_step_rank');
  const valueWidth = parameters.size('ssm.inner_size');
  if (valueHeads % keyHeads !== 0 || valueWidth % valueHeads !== 0) {
    throw invalidFile(fileName, `${valueHeads} value heads of ${valueWidth} values do not fit ${keyHeads} key heads`);
  }
  return {
    kind: 'gated-delta',
    length: kernelLength(source, 'ssm.conv_kernel'),
    keyHeads,
    valueHeads,
    keySize: parameters.size('ssm.state_size'),
    valueSize: valueWidth / valueHeads,
    headOrder,
  };
}
