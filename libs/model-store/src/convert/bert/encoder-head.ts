import { emitSentenceHead, type SentenceHead, type TokenValues } from '../sentence/sentence-head.js';
import { type ClassifierHead, emitClassifierHead } from './classifier-head.js';
import type { EncoderParts } from './encoder-parts.js';

/** The part behind the layers of an encoder: a classifier, or layers behind the pooling. */
export type EncoderHead = { kind: 'classifier'; head: ClassifierHead } | { kind: 'sentence'; head: SentenceHead };

export function emitEncoderHead(parts: EncoderParts, encoder: EncoderHead, tokens: TokenValues): void {
  if (encoder.kind === 'classifier') emitClassifierHead(parts, encoder.head, tokens);
  else emitSentenceHead(parts.builder, encoder.head, tokens);
}
