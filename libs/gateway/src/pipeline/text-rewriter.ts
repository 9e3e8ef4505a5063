import type { Caller } from '#accounts';
import type { NanoUsd } from '#common';
import type { ModelRequester } from './model-resolver.js';

export interface RewriteOptions {
  /** What to do with the text. */
  instruction: string;
  caller: Caller;
  /** Of the request: they name the models that its caller may use. */
  headers: ModelRequester['headers'];
  /** The client's connection. */
  disconnected: AbortSignal;
  deadlineMs: number;
  /** What the balance must cover meanwhile: the rewriting is charged with the work it is for. */
  reservedNano: NanoUsd;
}

/** Rewrites texts with the default chat model. Abstract: one slice needs it, and only the api process knows another. */
export abstract class TextRewriter {
  /** Null when no such model is served or anything fails; never rejects. It costs nothing by itself. */
  abstract rewrite(text: string, options: RewriteOptions): Promise<string | null>;
}
