import { JobQuote } from '#billing';
import type { Caller } from '#accounts';
import type { OpenRequest } from '#jobs';
import { balanceHeaders, type InferenceServices, runRequest } from '#gateway';
import type { TranscriptionEvent } from '../contract/transcription.events.js';
import { transcriptionJob, type TranscriptionJobPayload } from '../contract/transcription.job.js';
import { quoteTranscription, type TranscriptionPricing } from '../contract/transcription.meter.js';
import type { TakenRecording } from './recording-input-reader.js';
import { Transcript } from './transcription.presenter.js';

export interface TranscriptionOrder {
  requestId: string;
  caller: Caller;
  modelId: string;
  tokenReservation: OpenRequest['tokenReservation'];
  recording: TakenRecording;
  wishes: Omit<TranscriptionJobPayload, 'artifactId' | 'maxSeconds'>;
  /** The caller's connection. */
  disconnected: AbortSignal;
  onHeaders: (headers: Record<string, string>) => void;
}

/** From the quote to the whole transcript. Rejects as `runRequest` does. */
export async function runTranscription(services: InferenceServices, order: TranscriptionOrder): Promise<Transcript> {
  const { modelId, recording, wishes, disconnected } = order;
  const price = await services.price(modelId, order.requestId);
  const pricing = price.pricing as TranscriptionPricing | null;
  const quote = new JobQuote(quoteTranscription(recording.quotedSeconds, pricing), price);
  const payload: TranscriptionJobPayload = {
    ...wishes,
    artifactId: recording.artifactId,
    maxSeconds: recording.quotedSeconds,
  };
  const { requestId, caller, tokenReservation } = order;
  const job = { requestId, caller, definition: transcriptionJob, modelId, payload, quote, tokenReservation };
  let transcript = new Transcript();
  try {
    await runRequest<TranscriptionEvent>(services, job, {
      disconnected,
      onEvent: (event) => transcript.add(event),
      onRepeat: () => (transcript = new Transcript()),
    });
    return transcript;
  } finally {
    order.onHeaders(balanceHeaders(quote));
  }
}
