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

/** A speech example and one of music. */
function examples(summary: string, value: object, music?: object): DocumentedRoute['examples'] {
  return { usual: { summary, value }, ...(music && { music: { summary: 'Of music', value: music } }) };
}

/** What the document says of the routes of queued audio. */
export const audioDocuments = {
  quote: {
    tags,
    operationId: 'quoteAudio',
    summary: 'Ask what queued sound costs',
    description: 'The price of a job, now. It needs no key.',
    body: QuoteAudioRequest,
    examples: examples(
      'Ask what queued sound costs',
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
    summary: 'Have a long text read, or music made',
    description: 'Takes the job in and answers at once; `/audio/retrieve` tells how it is doing.',
    body: QueueAudioRequest,
    examples: examples(
      'Have a long text read, or music made',
      {
        model: 'kokoro-82m',
        prompt: 'Chapter one.\n\nIt was a quiet morning.\n\n---\n\nChapter two.\n\nThen the rain came.',
        voice: 'af_sky',
      },
      { model: 'composer', prompt: 'slow jazz with a soft piano', duration_seconds: 20, seed: 7 },
    ),
    responses: { 200: { description: 'The job is in.', json: AudioQueueResponse } },
    errors: [400, 401, 402, 403, 404, 413, 422, 429, 500, 503],
  },
  retrieve: {
    tags,
    operationId: 'retrieveAudio',
    summary: 'Ask for queued sound',
    description: 'How the job is doing, or the sound. Ask every 5 seconds or so.',
    body: RetrieveAudioRequest,
    examples: examples('Ask for queued sound', poll),
    responses: {
      200: {
        description: 'JSON while it runs, then the sound.',
        json: AudioStatusResponse,
        content: { 'audio/mpeg': binaryContent, 'audio/wav': binaryContent, 'audio/flac': binaryContent },
      },
    },
    errors: [400, 401, 402, 403, 404, 422, 429, 500, 503],
  },
  complete: {
    tags,
    operationId: 'completeAudio',
    summary: 'Delete queued sound',
    description: 'Deletes the result of a job that has ended. A running job goes on, and the answer is false.',
    body: CompleteAudioRequest,
    examples: examples('Delete queued sound', poll),
    responses: { 200: { description: 'Whether it is deleted.', json: AudioCompleteResponse } },
    errors: [400, 401, 402, 403, 404, 429, 500, 503],
  },
} satisfies Record<string, DocumentedRoute>;
