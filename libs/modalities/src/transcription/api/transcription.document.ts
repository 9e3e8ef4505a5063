import type { DocumentedRoute } from '#platform/http';
import { TranscriptionRequest } from '../contract/transcription.request.js';
import { TranscriptionResponse, VideoTranscriptionResponse } from '../contract/transcription.response.js';
import { VideoTranscriptionRequest } from '../contract/video-transcription.request.js';

const content = { 'text/plain': { schema: { type: 'string' }, example: 'And so my fellow Americans.' } };
const produces = ['application/json', 'text/plain'];

/** What the document says of `POST /audio/transcriptions`. */
export const transcriptionDocument: DocumentedRoute = {
  tags: ['Audio', 'Transcriptions'],
  operationId: 'createTranscription',
  summary: 'Write down speech',
  description: 'The words of a recording, with the times of words and segments where the model tells them.',
  body: TranscriptionRequest,
  examples: {
    plain: { summary: 'The text alone', value: { file: '(the recording)', response_format: 'text' } },
    times: {
      summary: 'With the times of words',
      value: { file: '(the recording)', model: 'default', timestamps: true },
    },
  },
  produces,
  responses: { 200: { description: 'The transcript.', json: TranscriptionResponse, content } },
  envelope: 'openai',
  errors: [400, 401, 402, 403, 404, 413, 415, 422, 429, 500, 502, 503, 504],
};

/** What the document says of `POST /video/transcriptions`. */
export const videoTranscriptionDocument: DocumentedRoute = {
  tags: ['Video', 'Transcriptions'],
  operationId: 'createVideoTranscription',
  summary: 'Write down what is said in a video',
  description: 'The words of a public video or recording, by the default model of transcriptions.',
  body: VideoTranscriptionRequest,
  examples: { video: { summary: 'What is said in a video', value: { url: 'https://example.com/talk.mp4' } } },
  produces,
  responses: { 200: { description: 'The transcript.', json: VideoTranscriptionResponse, content } },
  errors: [400, 401, 402, 403, 404, 413, 422, 429, 500, 502, 503, 504],
};
