import { JobQuote, type ModelPrice } from '#billing';
import { type NanoUsd, newRequestId } from '#common';
import type { JobRunner } from '#gateway';
import type { ModelManifest } from '#model-registry/manifest';
import type { RequestCaller } from '#platform/http';
import type { ChatEvent } from '../../contract/chat.events.js';
import { chatJob, type ChatJobPayload } from '../../contract/chat.job.js';
import { boundChat } from '../../contract/chat.meter.js';

/** Settings of a free chat, beside those that all share. */
type FreeChatSettings = Pick<ChatJobPayload, 'sampling' | 'cacheScope' | 'platformCharacters' | 'format'> & {
  maxTokens: number;
};

/** A short chat of the platform's own that helps with a request. */
export interface FreeChat {
  manifest: ModelManifest;
  instruction: string;
  text: string;
  settings: FreeChatSettings;
  /** The model's price, by which the row is kept; nothing is charged. */
  price: ModelPrice;
  /** What the request that it helps is going to cost, held meanwhile. */
  reservedNano: NanoUsd;
  site: string;
  caller: RequestCaller;
  deadlineMs: number;
  disconnected: AbortSignal;
}

/** Returns what the model wrote. The request that it is for pays for what follows from it. Rejects as `run` does. */
export async function writeFreely(runner: Pick<JobRunner, 'run'>, chat: FreeChat): Promise<string> {
  const { manifest, instruction, text, settings, price, reservedNano, site, ...rest } = chat;
  const payload: ChatJobPayload = {
    messages: [
      { role: 'system', content: instruction },
      { role: 'user', content: text },
    ],
    n: 1,
    stop: [],
    stopTokenIds: [],
    topLogprobs: null,
    enableThinking: false,
    stripThinking: true,
    ...settings,
  };
  const { contextLength = Number.POSITIVE_INFINITY } = manifest;
  const bounds = boundChat(payload, { contextLength, maxCompletionTokens: settings.maxTokens });
  const quote = new JobQuote(reservedNano, { ...price, pricing: null }, bounds);
  const job = {
    requestId: newRequestId(site),
    definition: chatJob,
    modelId: manifest.id,
    payload,
    bounds,
    quote,
    ...rest,
  };
  let written = '';
  await runner.run<ChatEvent>(job, (event) => {
    if (event.type === 'text-delta' && event.channel === 'content') written += event.text;
  });
  return written;
}
