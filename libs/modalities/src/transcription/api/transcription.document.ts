import type { DocumentedRoute } from '#platform/http';
import { TranscriptionRequest } from '../contract/transcription.request.js';
import { TranscriptionResponse, VideoTranscriptionResponse } from '../contract/transcription.response.js';
import { TranslationRequest } from '../contract/translation.request.js';
import { VideoTranscriptionRequest } from '../contract/video-transcription.request.js';

const content = { 'text/plain': { schema: { type: 'string' }, example: 'And so my fellow Americans.' } };
const streamExample = [
  'data: {"type":"transcript.text.delta","delta":"And so my fellow Americans."}',
  'data: {"type":"transcript.text.done","text":"And so my fellow Americans."}',
  'data: [DONE]',
]
  .map((event) => `${event}\n\n`)
  .join('');
const produces = ['application/json', 'text/plain'];

/** OpenAPI document of `POST /audio/transcriptions`. */
export const transcriptionDocument: DocumentedRoute = {
  tags: ['Audio', 'Transcriptions'],
  operationId: 'createTranscription',
  summary: 'Transcribe speech',
  description: 'The text of a recording, with the times of words and segments if the model reports them.',
  body: TranscriptionRequest,
  examples: {
    plain: { summary: 'The text alone', value: { file: '(the recording)', response_format: 'text' } },
    times: {
      summary: 'With the times of words',
      value: { file: '(the recording)', model: 'default', timestamps: true },
    },
    stream: { summary: 'While it is made', value: { file: '(the recording)', model: 'default', stream: true } },
  },
  produces,
  responses: {
    200: {
      description: 'The transcript; with `stream`, as events while it is made.',
      json: TranscriptionResponse,
      content: { ...content, 'text/event-stream': { schema: { type: 'string' }, example: streamExample } },
    },
  },
  envelope: 'openai',
  errors: [400, 401, 402, 403, 404, 413, 415, 422, 429, 500, 502, 503, 504],
};

/** OpenAPI document of `POST /audio/translations`. */
export const translationDocument: DocumentedRoute = {
  tags: ['Audio', 'Transcriptions'],
  operationId: 'createTranslation',
  summary: 'Translate speech into English',
  description: 'The English text of a recording in another language, for models that translate: multilingual Whisper.',
  body: TranslationRequest,
  examples: {
    plain: { summary: 'The text alone', value: { file: '(the recording)', response_format: 'text' } },
    segments: {
      summary: 'With the times of segments',
      value: { file: '(the recording)', model: 'whisper-1', response_format: 'verbose_json' },
    },
  },
  produces,
  responses: { 200: { description: 'The translation.', json: TranscriptionResponse, content } },
  envelope: 'openai',
  errors: [400, 401, 402, 403, 404, 413, 415, 422, 429, 500, 502, 503, 504],
};

/** OpenAPI document of `POST /video/transcriptions`. */
export const videoTranscriptionDocument: DocumentedRoute = {
  tags: ['Video', 'Transcriptions'],
  operationId: 'createVideoTranscription',
  summary: 'Transcribe a video',
  description: 'The text of a public video or recording, from the default transcription model.',
  body: VideoTranscriptionRequest,
  examples: { video: { summary: 'The speech in a video', value: { url: 'https://example.com/talk.mp4' } } },
  produces,
  responses: { 200: { description: 'The transcript.', json: VideoTranscriptionResponse, content } },
  errors: [400, 401, 402, 403, 404, 413, 422, 429, 500, 502, 503, 504],
};
