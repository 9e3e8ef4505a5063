import type { JobEnvelope } from './job-definition.js';

/** The key that belongs to no single model. No model has this id. */
export const everyModel = '';

/** Encrypts and opens texts with one key. `place` binds a text to where it is stored. */
export interface Seal {
  seal(place: string, text: string): string;
  /** Throws `INFERENCE_FAILED` when no key of this process opens it, or it belongs to another place. */
  open(place: string, sealed: string): string;
}

/** The seals of a process, one for each model whose key it has. */
export interface Seals {
  /** True when this process has no keys, so that nothing is sealed. */
  readonly isEmpty: boolean;
  /** Null without a key for the model. */
  sealOf(modelId: string): Seal | null;
}

/** Seals jobs on their way into the store, and opens them on their way out. */
export interface EnvelopeSeal {
  /** Returns the envelope as it is stored; unchanged without keys. */
  seal(envelope: JobEnvelope): JobEnvelope;
  /**
   * Returns what a stored envelope holds. An envelope that was stored without a key is returned unchanged. Throws
   * `INFERENCE_FAILED` if it cannot be opened here.
   */
  open(envelope: JobEnvelope): JobEnvelope;
}

/** The address of a reply, and the model whose requests it may answer; `everyModel` for any. */
export interface ReplyTarget {
  readonly address: string;
  readonly scope: string;
}

export interface ScopedReplyHandlers {
  /** Messages of other scopes are dropped unread. */
  accepts(scope: string): boolean;
  onMessage(text: string, scope: string): void;
  onLost(): void;
}

/** A reply link whose messages are bound to the model that they answer for. */
export interface ScopedReplyLink {
  /** Null when this process can send no replies for the model. */
  scopeOf(modelId: string): string | null;
  send(target: ReplyTarget, messages: string[]): Promise<void>;
  receive(address: string, handlers: ScopedReplyHandlers): Promise<{ close(): Promise<void> }>;
}
