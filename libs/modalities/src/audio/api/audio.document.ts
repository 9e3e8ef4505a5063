import { queuedMediaDocuments } from '#gateway';
import { binaryContent } from '#platform/http';
import * as requests from '../contract/audio.request.js';
import * as responses from '../contract/audio.response.js';

const model = 'kokoro-82m';
const prompt = 'Chapter one.\n\nIt was a quiet morning.\n\n---\n\nChapter two.\n\nThen the rain came.';
const music = { model: 'composer', duration_seconds: 20 };

/** OpenAPI documents of the queued audio routes. */
export const audioDocuments = queuedMediaDocuments('Audio', {
  noun: 'queued audio',
  model,
  quote: {
    description: 'The current price of a job. It needs no key.',
    body: requests.QuoteAudioRequest,
    examples: {
      usual: { summary: 'Of a text', value: { model, character_count: 12_000 } },
      music: { summary: 'Of music', value: music },
    },
    json: responses.AudioQuoteResponse,
    errors: [400, 403, 404, 429, 500, 503],
    security: 'inherited',
  },
  queue: {
    summary: 'Queue a long text or music',
    body: requests.QueueAudioRequest,
    examples: {
      usual: { summary: 'A long text', value: { model, prompt, voice: 'af_sky' } },
      music: { summary: 'Music', value: { ...music, prompt: 'slow jazz with a soft piano', seed: 7 } },
    },
    json: responses.AudioQueueResponse,
  },
  retrieve: {
    body: requests.RetrieveAudioRequest,
    json: responses.AudioStatusResponse,
    content: { 'audio/mpeg': binaryContent, 'audio/wav': binaryContent, 'audio/flac': binaryContent },
    errors: [400, 401, 402, 403, 404, 422, 429, 500, 503],
  },
  complete: { body: requests.CompleteAudioRequest, json: responses.AudioCompleteResponse },
});
