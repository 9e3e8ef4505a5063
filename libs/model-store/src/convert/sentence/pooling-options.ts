import { PlatformError } from '#common';
import type { ConversionOptions } from '../conversion.js';
import { badOption, chooseOption } from '../conversion-options.js';
import { type DecoderPurpose, decoderPurposes } from '../decoder/decoder-purpose.js';
import { type SentencePooling, sentencePoolings } from './sentence-head.js';

/** Options of converters for decoders that write no text. */
export const poolingOptionNames = ['purpose', 'pooling', 'trueToken', 'falseToken'];

export interface PoolingOptions {
  purpose: DecoderPurpose;
  /** Absent: as the files say. */
  pooling?: SentencePooling;
  /** Text or id of the token whose logit counts for a document; default: as the files say. */
  trueToken?: string | number;
  /** The same of the token that counts against a document. */
  falseToken?: string | number;
}

/** Options that only a model with text has. */
const textOptions = ['layout', 'headWeights'];

/** Throws `INVALID_MODEL` for options that do nothing for the purpose. */
export function readPoolingOptions(options: ConversionOptions): PoolingOptions {
  const purpose = chooseOption(options, 'purpose', decoderPurposes, 'text');
  const unused: Record<DecoderPurpose, string[]> = {
    text: ['pooling', 'trueToken', 'falseToken'],
    embedding: ['trueToken', 'falseToken', ...textOptions],
    rerank: ['pooling', ...textOptions],
  };
  const idle = unused[purpose].find((name) => options[name] !== undefined);
  if (idle !== undefined) throw badOption(idle, `has no effect on a model with the purpose ${purpose}`);
  return {
    purpose,
    ...(options['pooling'] !== undefined && { pooling: chooseOption(options, 'pooling', sentencePoolings, 'mean') }),
    trueToken: tokenOption(options, 'trueToken'),
    falseToken: tokenOption(options, 'falseToken'),
  };
}

function tokenOption(options: ConversionOptions, name: string): string | number | undefined {
  const value = options[name];
  if (value === undefined || typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw badOption(name, 'must be the text or the id of a token');
}

/** Nothing says how the vectors of the tokens become one, and every guess would give other vectors. */
export function unknownPooling(where: string): PlatformError {
  const ways = `${sentencePoolings.slice(0, -1).join(', ')} or ${sentencePoolings.at(-1)}`;
  const text = `${where} does not say how the vectors of tokens become that of a text. Its model card does: add it with --pooling ${ways}.`;
  return new PlatformError('INVALID_REQUEST', text, 'pooling');
}
