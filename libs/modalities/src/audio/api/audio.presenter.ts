import { displayNanos, type NanoUsd } from '#common';
import type { AudioQueueResponse, AudioQuoteResponse } from '../contract/audio.response.js';

export function presentQuote(amountNano: NanoUsd): AudioQuoteResponse {
  return { quote: displayNanos(amountNano) };
}

export function presentQueued({ modelId, queueId }: { modelId: string; queueId: string }): AudioQueueResponse {
  return { model: modelId, queue_id: queueId, status: 'QUEUED' };
}
