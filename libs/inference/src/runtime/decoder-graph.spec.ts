import { describe, expect, it } from 'vitest';
import { inspectDecoderGraph } from './decoder-graph.js';
import type { GraphSession, TensorDescription } from './graph-session.js';

const cacheShape = ['batch', 4, 'past', 64];
const layer = (index: number, type = 'float32', shape: (number | string)[] = cacheShape): TensorDescription[] =>
  ['value', 'key'].map((part) => ({ name: `past_key_values.${index}.${part}`, type, shape }));
const present = (index: number, type = 'float32'): TensorDescription[] =>
  ['key', 'value'].map((part) => ({ name: `present.${index}.${part}`, type, shape: cacheShape }));
const int64 = (name: string, shape: (number | string)[] = ['batch', 'seq']): TensorDescription => ({
  name,
  type: 'int64',
  shape,
});
const logits = (type = 'float32', shape: (number | string)[] = ['batch', 'seq', 1000]): TensorDescription => ({
  name: 'logits',
  type,
  shape,
});

function session(inputs: TensorDescription[], outputs: TensorDescription[]): GraphSession {
  const unused = (): never => {
    throw new Error('Inspection runs nothing.');
  };
  return { inputs, outputs, provider: 'fake', providerNote: null, tensor: unused, run: unused, release: unused };
}

const splitInputs = [int64('input_ids'), int64('past_lens'), int64('last_index'), ...layer(0)];
const splitOutputs = [logits('float32', ['batch', 1000]), { name: 'new_kv', type: 'float32', shape: [] }];

const noCaches = { heads: 0, dimension: 0 };

describe('inspectDecoderGraph', () => {
  it('recognizes the split graph with its top candidates', () => {
    const top = ['topk_values', 'topk_ids', 'lse'].map((name) => ({ name, type: 'float32', shape: ['batch', 64] }));
    expect(inspectDecoderGraph(session(splitInputs, [...splitOutputs, ...top]))).toEqual({
      kind: 'split',
      caches: [
        { past: 'past_key_values.0.key', present: null },
        { past: 'past_key_values.0.value', present: null },
      ],
      cacheType: 'float32',
      kvHeads: 4,
      headDim: 64,
      sizes: { whole: { heads: 4, dimension: 64 }, windowed: noCaches, index: noCaches },
      vocabularySize: 1000,
      topSize: 64,
      hasLogSumExp: true,
      givesWanted: false,
      takesAdapters: false,
      picksLogits: false,
      mediaWidth: null,
      takesPositions: false,
      seesWholeImages: false,
      states: [],
    });
  });

  it('finds the states of layers that do not attend', () => {
    const state = (name: string, type = 'float32') => ({ name, type, shape: ['batch', 2, 64] });
    const inputs = [...splitInputs, state('past_states.3.inputs')];
    const found = inspectDecoderGraph(session(inputs, [...splitOutputs, state('new_states.3.inputs')]));
    const names = { past: 'past_states.3.inputs', present: 'new_states.3.inputs' };
    expect(found).toMatchObject({ kind: 'split', states: [{ ...names, dimensions: [2, 64] }] });
    expect(() => inspectDecoderGraph(session(inputs, splitOutputs))).toThrow('no output `new_states.3.inputs`');
    const half = [...splitInputs, state('past_states.3.inputs', 'float16')];
    const halfOutputs = [...splitOutputs, state('new_states.3.inputs', 'float16')];
    expect(() => inspectDecoderGraph(session(half, halfOutputs))).toThrow('`past_states.3.inputs` is not float32');
  });

  it('finds the sizes of layers with a window, which may differ from those of the others', () => {
    const past = (layer: number, heads: number, positions: string, dimension: number) =>
      ['key', 'value'].map((part) => ({
        name: `past_key_values.${layer}.${part}`,
        type: 'float32',
        shape: ['batch', heads, positions, dimension],
      }));
    const others = ['input_ids', 'past_lens', 'last_index', 'window_starts'].map((name) => int64(name));
    const outputs = splitOutputs.map((output) =>
      output.name === 'new_kv' ? { ...output, shape: [4, 'batch', 4, 'seq', 16] } : output,
    );
    const whole = past(1, 1, 'capacity', 16);
    const found = inspectDecoderGraph(session([...others, ...past(0, 4, 'window_6', 8), ...whole], outputs));
    const sizes = { whole: { heads: 1, dimension: 16 }, windowed: { heads: 4, dimension: 8 } };
    expect(found).toMatchObject({ kind: 'split', kvHeads: 4, headDim: 16, sizes });
    const mixed = [...others, ...past(0, 2, 'capacity', 8), ...whole];
    expect(() => inspectDecoderGraph(session(mixed, outputs))).toThrow('several sizes in layers of one kind');
  });

  it('finds one cache per layer that attends to latents', () => {
    const latent = (index: number) => ({
      name: `past_key_values.${index}.latent`,
      type: 'float32',
      shape: ['batch', 1, 'capacity', 576],
    });
    const others = [int64('input_ids'), int64('past_lens'), int64('last_index')];
    const inputs = [latent(2), ...others, latent(0), latent(1)];
    const found = inspectDecoderGraph(session(inputs, splitOutputs));
    expect(found).toMatchObject({ kind: 'split', kvHeads: 1, headDim: 576 });
    expect(found.caches.map(({ past }) => past)).toEqual([0, 1, 2].map((index) => `past_key_values.${index}.latent`));
    expect(found).toMatchObject({ sizes: { whole: { heads: 1, dimension: 576 }, index: noCaches } });
    const incomplete = [...others, latent(0), latent(2)];
    expect(() => inspectDecoderGraph(session(incomplete, splitOutputs))).toThrow('before `past_key_values.2.latent`');
  });

  it('finds the keys of indexers behind the latents of their layers', () => {
    const cache = (index: number, part: string, size: number) => ({
      name: `past_key_values.${index}.${part}`,
      type: 'float32',
      shape: ['batch', 1, 'capacity', size],
    });
    const others = [int64('input_ids'), int64('past_lens'), int64('last_index')];
    const latents = [0, 1, 2].map((index) => cache(index, 'latent', 576));
    const inputs = [cache(2, 'index', 128), ...latents, ...others, cache(0, 'index', 128)];
    const found = inspectDecoderGraph(session(inputs, splitOutputs));
    const names = ['0.latent', '0.index', '1.latent', '2.latent', '2.index'];
    expect(found.caches.map(({ past, isIndex }) => [past, isIndex])).toEqual(
      names.map((name) => [`past_key_values.${name}`, name.endsWith('index') || undefined]),
    );
    const sizes = { whole: { heads: 1, dimension: 576 }, windowed: noCaches, index: { heads: 1, dimension: 128 } };
    expect(found).toMatchObject({ kind: 'split', kvHeads: 1, headDim: 576, sizes });
    const alone = [...latents, ...others, cache(3, 'index', 128)];
    expect(() => inspectDecoderGraph(session(alone, splitOutputs))).toThrow('before `past_key_values.3.index`');
  });

  it('finds that a graph takes the adapter of each row', () => {
    const inputs = [...splitInputs, int64('adapter_ids', ['batch'])];
    expect(inspectDecoderGraph(session(inputs, splitOutputs))).toMatchObject({ kind: 'split', takesAdapters: true });
  });

  it('recognizes the split graph with logits at any places', () => {
    const inputs = [...splitInputs.filter(({ name }) => name !== 'last_index'), int64('logit_places')];
    expect(inspectDecoderGraph(session(inputs, splitOutputs))).toMatchObject({ kind: 'split', picksLogits: true });
  });

  it('finds the logits of wanted tokens', () => {
    const inputs = [...splitInputs, { name: 'wanted_ids', type: 'int64', shape: ['batch', 'wanted'] }];
    const outputs = [...splitOutputs, { name: 'wanted_logits', type: 'float32', shape: ['batch', 'wanted'] }];
    expect(inspectDecoderGraph(session(inputs, outputs))).toMatchObject({ kind: 'split', givesWanted: true });
  });

  it('finds the window of each layer, if the graph takes where its past begins', () => {
    const window = layer(1, 'float32', ['batch', 4, 'window_512', 64]);
    const inputs = [...splitInputs, ...window, int64('window_starts', ['batch'])];
    const windowsOf = (given: TensorDescription[]) =>
      inspectDecoderGraph(session(given, splitOutputs)).caches.map((cache) => cache.window);
    expect(windowsOf(inputs)).toEqual([undefined, undefined, 512, 512]);
    expect(windowsOf([...splitInputs, ...window])).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('accepts a split graph without top candidates', () => {
    const graph = inspectDecoderGraph(session(splitInputs, splitOutputs));
    expect(graph).toMatchObject({ kind: 'split', topSize: 0, hasLogSumExp: false });
  });

  it('orders layers by number, not by name', () => {
    const indexes = Array.from({ length: 12 }, (_, index) => 11 - index);
    const inputs = [int64('input_ids'), int64('attention_mask'), ...indexes.flatMap((index) => layer(index))];
    const graph = inspectDecoderGraph(session(inputs, [logits(), ...indexes.flatMap((index) => present(index))]));
    expect(graph.caches[4]).toEqual({ past: 'past_key_values.2.key', present: 'present.2.key' });
    expect(graph.caches[21]).toEqual({ past: 'past_key_values.10.value', present: 'present.10.value' });
  });

  it('finds optional inputs and number formats of the transformers.js layout', () => {
    const keep = int64('num_logits_to_keep', []);
    const inputs = [int64('input_ids'), int64('attention_mask'), int64('position_ids'), keep, ...layer(0, 'float16')];
    const graph = inspectDecoderGraph(session(inputs, [logits('float32'), ...present(0, 'float16')]));
    expect(graph).toMatchObject({
      kind: 'concat',
      cacheType: 'float16',
      logitsType: 'float32',
      attentionMask: 'int64',
      positionIds: 'int64',
      useCacheBranch: false,
      logitsToKeep: { name: 'num_logits_to_keep', rank: 0 },
    });
  });

  it('takes sizes that the graph leaves open from config.json', () => {
    const free = ['batch', 'heads', 'past', 'dim'];
    const inputs = [int64('input_ids'), ...layer(0, 'float32', free)];
    const open = session(inputs, [logits('float32', ['batch', 'seq', 'vocab']), ...present(0)]);
    const graph = inspectDecoderGraph(open, { kvHeads: 2, headDim: 8, vocabularySize: 50 });
    expect(graph).toMatchObject({ kvHeads: 2, headDim: 8, vocabularySize: 50 });
    expect(() => inspectDecoderGraph(open)).toThrow('num_key_value_heads');
  });

  it.each([
    ['no input `input_ids`', session([int64('pixel_values')], [logits()])],
    ['without a cache', session([int64('input_ids')], [logits()])],
    ['no output `logits`', session([int64('input_ids'), ...layer(0)], present(0))],
    ['`present.0.key`', session([int64('input_ids'), ...layer(0)], [logits()])],
    ['not complete', session([int64('input_ids'), ...layer(1)], [logits(), ...present(1)])],
    ['`pixel_values`', session([int64('input_ids'), int64('pixel_values'), ...layer(0)], [logits(), ...present(0)])],
    [
      '`last_index`',
      session(
        splitInputs.filter(({ name }) => name !== 'last_index'),
        splitOutputs,
      ),
    ],
  ])('rejects an unsuitable graph: %s', (reason, graph) => {
    expect(() => inspectDecoderGraph(graph)).toThrow(
      expect.objectContaining({ code: 'INVALID_MODEL', message: expect.stringContaining(reason) }),
    );
  });
});
