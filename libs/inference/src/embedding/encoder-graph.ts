import { PlatformError } from '#common';
import type { GraphSession, TensorDescription } from '../runtime/graph-session.js';

/** Inputs and outputs of an encoder graph. */
export interface EncoderGraph {
  inputs: readonly EncoderInput[];
  /** Output to fetch: one vector per token, or one for the whole text. */
  output: TensorDescription;
  granularity: 'tokens' | 'text';
}

export interface EncoderInput {
  name: string;
  kind: 'ids' | 'mask' | 'types' | 'positions';
  type: 'int64' | 'int32';
}

const kinds: Record<string, EncoderInput['kind']> = {
  input_ids: 'ids',
  attention_mask: 'mask',
  token_type_ids: 'types',
  position_ids: 'positions',
};

const tokenOutputs = ['last_hidden_state', 'token_embeddings'];
const textOutputs = ['sentence_embedding'];

/**
 * Finds inputs and the output by name and shape. With `wholeText`, only an output with one vector per text counts.
 * Throws `INVALID_MODEL` naming what does not fit.
 */
export function inspectEncoder(
  { inputs, outputs }: Pick<GraphSession, 'inputs' | 'outputs'>,
  { wholeText }: { wholeText: boolean },
): EncoderGraph {
  const known = describeInputs(inputs);
  const ofRank = (rank: number) => outputs.filter((output) => isFloat(output) && output.shape.length === rank);
  const pick = (candidates: TensorDescription[], wanted: string[]) =>
    candidates.find(({ name }) => wanted.includes(name));
  const tokens = pick(ofRank(3), tokenOutputs) ?? ofRank(3)[0];
  const text = pick(ofRank(2), textOutputs);
  if (tokens !== undefined && !wholeText) return { inputs: known, output: tokens, granularity: 'tokens' };
  if (text !== undefined) return { inputs: known, output: text, granularity: 'text' };
  throw unfit(wholeText ? 'its layers behind the pooling are not in the graph' : 'it gives no vectors of tokens');
}

/** Finds the inputs of a cross-encoder and its output: one score per pair. Throws `INVALID_MODEL` otherwise. */
export function inspectCrossEncoder({ inputs, outputs }: Pick<GraphSession, 'inputs' | 'outputs'>): {
  inputs: EncoderInput[];
  output: string;
} {
  const known = describeInputs(inputs);
  const scores = outputs.find(({ name }) => name === 'logits') ?? outputs[0];
  if (scores === undefined || !isFloat(scores)) throw unfit('it gives no scores');
  const classes = scores.shape[1];
  if (scores.shape.length > 2 || (typeof classes === 'number' && classes > 1)) {
    throw unfit(`its output ${scores.name} is not one score per text`);
  }
  return { inputs: known, output: scores.name };
}

function isFloat({ type }: TensorDescription): boolean {
  return type === 'float32' || type === 'float16';
}

function describeInputs(inputs: readonly TensorDescription[]): EncoderInput[] {
  const known = inputs.map(describeInput);
  for (const kind of ['ids', 'mask'] as const) {
    if (!known.some((input) => input.kind === kind)) throw unfit(`it takes no ${nameOf(kind)}`);
  }
  return known;
}

function describeInput({ name, type }: TensorDescription): EncoderInput {
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind === undefined) throw unfit(`its input ${name} is not known`);
  if (type !== 'int64' && type !== 'int32') throw unfit(`its input ${name} is of type ${type}`);
  return { name, kind, type };
}

function nameOf(wanted: EncoderInput['kind']): string {
  return Object.entries(kinds).find(([, kind]) => kind === wanted)?.[0] ?? wanted;
}

function unfit(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The graph of this model is not a text encoder: ${reason}.`);
}
