import type { Caller } from '#accounts';
import type { NanoUsd } from '#common';
import type { ModelRequester } from './model-resolver.js';

export interface RewriteOptions {
  /** What to do with the text. */
  instruction: string;
  caller: Caller;
  /** The request's headers, which select the models that its client may use. */
  headers: ModelRequester['headers'];
  /** The client's connection. */
  disconnected: AbortSignal;
  deadlineMs: number;
  /** Amount that the balance must cover; the rewriting is charged with the request it is for. */
  reservedNano: NanoUsd;
}

/** Who asks for a rewriting: the client and its request's headers. */
export type RewriteRequester = Pick<RewriteOptions, 'caller' | 'headers'>;

/**
 * Rewrites texts with a chat model that follows instructions. Abstract, because the slice that uses it may not depend on the chat
 * slice.
 */
export abstract class TextRewriter {
  /** Rejects with `INVALID_REQUEST` naming `param` if no served model follows instructions. */
  abstract requireModel(requester: RewriteRequester, param: string): Promise<void>;

  /** Returns null if no such model is served or anything fails; never rejects. It is not charged by itself. */
  abstract rewrite(text: string, options: RewriteOptions): Promise<string | null>;
}
