import { bytesOf, GraphBuilder, type OnnxGraph } from '#model-store';
import type { TinyWhisperTokens } from './tiny-whisper-tokens.js';

const states = 8;
const positions = 1_500;
const headSize = 4;
/** Attention positions from one token to the next. */
const positionsPerToken = 10;

/** Every other frame of the first mel bands. */
export function tinyWhisperEncoder(): OnnxGraph {
  const graph = new GraphBuilder('tiny-whisper-encoder');
  const features = graph.input('input_features', 'float32', ['batch_size', 80, 'frames']);
  const starts = graph.integers([0, 0]);
  const ends = graph.integers([states, 2 * positions]);
  const sliced = graph.node('Slice', [features, starts, ends, graph.integers([1, 2]), graph.integers([1, 2])]);
  graph.node('Transpose', [sliced], { perm: [0, 2, 1] }, 'last_hidden_state');
  graph.output('last_hidden_state', 'float32', ['batch_size', positions, states]);
  return graph.build();
}

/** The most likely token is the next one in the chain, then the end token. Its attention advances evenly. */
export function tinyWhisperDecoder({ next, vocabularySize, endOfText }: TinyWhisperTokens): OnnxGraph {
  const graph = new GraphBuilder('tiny-whisper-decoder');
  const ids = graph.input('input_ids', 'int64', ['batch_size', 'tokens']);
  const heard = graph.input('encoder_hidden_states', 'float32', ['batch_size', 'positions', states]);
  const cached = cacheInputs(graph);
  graph.input('use_cache_branch', 'bool', [1]);

  const table = graph.weight('next', 'int64', [vocabularySize], () => bytesOf(BigInt64Array.from(next, BigInt)));
  const followers = graph.node('Gather', [table, ids]);
  const depth = graph.integers(vocabularySize);
  const levels = (high: number): string =>
    graph.weight(`levels-${high}`, 'float32', [2], () => bytesOf(Float32Array.of(0, high)));
  const likely = graph.node('OneHot', [followers, depth, levels(20)]);
  const end = graph.node('OneHot', [graph.integers([endOfText]), depth, levels(10)]);
  graph.node('Add', [likely, end], {}, 'logits');
  graph.output('logits', 'float32', ['batch_size', 'tokens', vocabularySize]);

  const count = dimension(graph, ids, 1);
  growCache(graph, cached, count);
  const keys = graph.node('Slice', [heard, graph.integers([0]), graph.integers([headSize]), graph.integers([2])]);
  for (const kind of ['key', 'value']) {
    graph.node('Unsqueeze', [keys, graph.integers([1])], {}, `present.0.encoder.${kind}`);
    graph.output(`present.0.encoder.${kind}`, 'float32', ['batch_size', 1, 'positions', headSize]);
  }
  attend(graph, { count, past: dimension(graph, cached.key, 2) });
  return graph.build();
}

/** Speech is any sound above a threshold. */
export function tinyVoiceGraph(): OnnxGraph {
  const graph = new GraphBuilder('tiny-voice');
  const input = graph.input('input', 'float32', ['batch', 'samples']);
  const state = graph.input('state', 'float32', [2, 'batch', 128]);
  graph.input('sr', 'int64', []);
  const loudness = graph.node('ReduceMean', [graph.node('Abs', [input])], { axes: [1], keepdims: 1 });
  const above = graph.node('Mul', [graph.node('Sub', [loudness, graph.float(0.01)]), graph.float(2_000)]);
  graph.node('Sigmoid', [above], {}, 'output');
  graph.node('Identity', [state], {}, 'stateN');
  graph.output('output', 'float32', ['batch', 1]);
  graph.output('stateN', 'float32', [2, 'batch', 128]);
  return graph.build();
}

interface CacheInputs {
  key: string;
  value: string;
}

function cacheInputs(graph: GraphBuilder): CacheInputs {
  const input = (side: string, kind: string, length: string): string =>
    graph.input(`past_key_values.0.${side}.${kind}`, 'float32', ['batch_size', 1, length, headSize]);
  const cached = { key: input('decoder', 'key', 'past'), value: input('decoder', 'value', 'past') };
  for (const kind of ['key', 'value']) input('encoder', kind, 'positions_out');
  return cached;
}

/** A real decoder caches the tokens; this one caches only their number. */
function growCache(graph: GraphBuilder, cached: CacheInputs, count: string): void {
  const one = graph.integers([1]);
  const shape = graph.node('Concat', [one, one, count, graph.integers([headSize])], { axis: 0 });
  const added = graph.node('Expand', [graph.float(0), shape]);
  for (const kind of ['key', 'value'] as const) {
    graph.node('Concat', [cached[kind], added], { axis: 2 }, `present.0.decoder.${kind}`);
    graph.output(`present.0.decoder.${kind}`, 'float32', ['batch_size', 1, 'past + tokens', headSize]);
  }
}

function attend(graph: GraphBuilder, { count, past }: { count: string; past: string }): void {
  const scalar = (value: string): string => graph.node('Squeeze', [value, graph.integers([0])]);
  const from = scalar(past);
  const tokens = graph.node('Range', [from, graph.node('Add', [from, scalar(count)]), graph.integers(1)]);
  const centres = graph.node('Mul', [graph.node('Cast', [tokens], { to: 1 }), graph.float(positionsPerToken)]);
  const places = graph.weight('places', 'float32', [1, positions], () =>
    bytesOf(Float32Array.from({ length: positions }, (_, index) => index)),
  );
  const distance = graph.node('Sub', [places, graph.node('Unsqueeze', [centres, graph.integers([1])])]);
  const scores = graph.node('Mul', [graph.node('Mul', [distance, distance]), graph.float(-0.02)]);
  const weights = graph.node('Softmax', [scores], { axis: -1 });
  graph.node('Unsqueeze', [weights, graph.integers([0, 1])], {}, 'cross_attentions.0');
  graph.output('cross_attentions.0', 'float32', ['batch_size', 1, 'tokens', positions]);
}

/** One dimension as a vector of length one. */
function dimension(graph: GraphBuilder, value: string, axis: number): string {
  return graph.node('Gather', [graph.node('Shape', [value]), graph.integers([axis])]);
}
