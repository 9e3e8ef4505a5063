import { binaryContent, type DocumentedRoute } from '#platform/http';
import {
  CompleteAudioRequest,
  QueueAudioRequest,
  QuoteAudioRequest,
  RetrieveAudioRequest,
} from '../contract/audio.request.js';
import {
  AudioCompleteResponse,
  AudioQueueResponse,
  AudioQuoteResponse,
  AudioStatusResponse,
} from '../contract/audio.response.js';

const poll = { model: 'kokoro-82m', queue_id: '0b7fe1b6-6a3a-4dc1-9d0e-2f7dd9a8f1c0' };
const tags = ['Audio'];

/** An example of speech and one of music. */
function examples(summary: string, value: object, music?: object): DocumentedRoute['examples'] {
  return { usual: { summary, value }, ...(music && { music: { summary: 'Of music', value: music } }) };
}

/** OpenAPI documents of the queued audio routes. */
export const audioDocuments = {
  quote: {
    tags,
    operationId: 'quoteAudio',
    summary: 'Quote queued audio',
    description: 'The current price of a job. It needs no key.',
    body: QuoteAudioRequest,
    examples: examples(
      'Quote queued audio',
      { model: 'kokoro-82m', character_count: 12_000 },
      { model: 'composer', duration_seconds: 20 },
    ),
    responses: { 200: { description: 'The price.', json: AudioQuoteResponse } },
    errors: [400, 403, 404, 429, 500, 503],
    isPublic: true,
  },
  queue: {
    tags,
    operationId: 'queueAudio',
    summary: 'Queue a long text or music',
    description: 'Queues the job and responds at once; `/audio/retrieve` reports its progress.',
    body: QueueAudioRequest,
    examples: examples(
      'Queue a long text or music',
      {
        model: 'kokoro-82m',
        prompt: 'Chapter one.\n\nIt was a quiet morning.\n\n---\n\nChapter two.\n\nThen the rain came.',
        voice: 'af_sky',
      },
      { model: 'composer', prompt: 'slow jazz with a soft piano', duration_seconds: 20, seed: 7 },
    ),
    responses: { 200: { description: 'The job is queued.', json: AudioQueueResponse } },
    errors: [400, 401, 402, 403, 404, 413, 422, 429, 500, 503],
  },
  retrieve: {
    tags,
    operationId: 'retrieveAudio',
    summary: 'Retrieve queued audio',
    description: 'The progress of the job, or the audio. Poll about every 5 seconds.',
    body: RetrieveAudioRequest,
    examples: examples('Retrieve queued audio', poll),
    responses: {
      200: {
        description: 'JSON while it runs, then the audio.',
        json: AudioStatusResponse,
        content: { 'audio/mpeg': binaryContent, 'audio/wav': binaryContent, 'audio/flac': binaryContent },
      },
    },
    errors: [400, 401, 402, 403, 404, 422, 429, 500, 503],
  },
  complete: {
    tags,
    operationId: 'completeAudio',
    summary: 'Delete queued audio',
    description: 'Deletes the result of a job that has ended. A running job continues, and `success` is false.',
    body: CompleteAudioRequest,
    examples: examples('Delete queued audio', poll),
    responses: { 200: { description: 'Whether it was deleted.', json: AudioCompleteResponse } },
    errors: [400, 401, 402, 403, 404, 429, 500, 503],
  },
} satisfies Record<string, DocumentedRoute>;
