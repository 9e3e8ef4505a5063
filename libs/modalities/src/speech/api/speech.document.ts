import { audioContentTypes } from '#media';
import { binaryContent, type DocumentedRoute } from '#platform/http';
import { speechFormats } from '../contract/speech.job.js';
import { SpeechRequest } from '../contract/speech.request.js';
import { VoiceRequest } from '../contract/voice.request.js';
import { VoiceResponse } from '../contract/voice.response.js';

/** OpenAPI document of `POST /audio/speech`. */
export const speechDocument: DocumentedRoute = {
  tags: ['Audio', 'Speech'],
  operationId: 'createSpeech',
  summary: 'Synthesize speech',
  description:
    'The text as speech. `pcm` is 16-bit little-endian mono without a header, at the model’s `pcm_sample_rate`.',
  body: SpeechRequest,
  examples: {
    plain: { summary: 'An mp3', value: { model: 'default', input: 'The birch canoe slid on the smooth planks.' } },
    stream: {
      summary: 'Sentence by sentence, in a voice',
      value: {
        model: 'kokoro-82m',
        input: 'Good morning. It is half past nine, and the museum is open.',
        voice: 'af_sky',
        response_format: 'pcm',
        streaming: true,
      },
    },
  },
  responses: {
    200: {
      description: 'The audio; with `streaming`, each sentence as soon as it is made.',
      content: Object.fromEntries(speechFormats.map((format) => [audioContentTypes[format], binaryContent])),
    },
  },
  envelope: 'openai',
  errors: [400, 401, 402, 403, 404, 413, 415, 429, 500, 503, 504],
};

/** OpenAPI document of `POST /audio/voices`. */
export const voicesDocument: DocumentedRoute = {
  tags: ['Audio', 'Voices'],
  operationId: 'createClonedVoice',
  summary: 'Upload a voice',
  description:
    'Stores a recording of a voice and returns a handle for it, for models whose record has `voice_cloning`. Others ' +
    'reject it. It is deleted after `retention_days`.',
  body: VoiceRequest,
  examples: { sample: { value: { file: '(the recording)' } } },
  responses: { 200: { description: 'The handle.', json: VoiceResponse } },
  errors: [400, 401, 402, 403, 404, 413, 415, 429, 500, 503],
};
