import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiExtraModels, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { audioContentTypes } from '#media';
import { ApiErrors, jsonContent } from '#platform/http';
import { speechFormats } from '../contract/speech.job.js';
import { SpeechRequest } from '../contract/speech.request.js';
import { VoiceRequest } from '../contract/voice.request.js';
import { VoiceResponse } from '../contract/voice.response.js';

const speechExamples = {
  plain: { summary: 'An mp3', value: { model: 'default', input: 'The birch canoe slid on the smooth planks.' } },
  stream: {
    summary: 'Sentence by sentence, in a voice',
    value: {
      model: 'kokoro-82m',
      input: 'Good morning. It is half past nine, and the museum is open.',
      voice: 'bf_emma',
      response_format: 'pcm',
      streaming: true,
    },
  },
};

const audio = { schema: { type: 'string', format: 'binary' } };

/** What the document says of `POST /audio/speech`. */
export function SpeechApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Audio', 'Speech'),
    ApiBearerAuth('BearerAuth'),
    ApiExtraModels(SpeechRequest),
    ApiOperation({
      operationId: 'createSpeech',
      summary: 'Say a text',
      description:
        'The text as sound. `pcm` is 16-bit little-endian mono without a header, at the model’s `pcm_sample_rate`.',
    }),
    ApiBody({ type: SpeechRequest, required: true, examples: speechExamples }),
    ApiResponse({
      status: 200,
      description: 'The sound; with `streaming`, each sentence as soon as it is made.',
      content: Object.fromEntries(speechFormats.map((format) => [audioContentTypes[format], audio])),
    }),
    ApiErrors('openai', [400, 401, 402, 403, 404, 413, 415, 429, 500, 503, 504]),
  );
}

/** What the document says of `POST /audio/voices`. */
export function VoicesApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Audio', 'Voices'),
    ApiBearerAuth('BearerAuth'),
    ApiExtraModels(VoiceRequest, VoiceResponse),
    ApiOperation({
      operationId: 'createClonedVoice',
      summary: 'Upload a voice',
      description:
        'Keeps a recording of a voice and answers a handle for it, for models whose record has `voice_cloning`. Others ' +
        'refuse. It is deleted after `retention_days`.',
    }),
    ApiBody({ type: VoiceRequest, required: true, examples: { sample: { value: { file: '(the recording)' } } } }),
    ApiResponse({
      status: 200,
      description: 'The handle.',
      content: jsonContent(VoiceResponse),
    }),
    ApiErrors('standard', [400, 401, 402, 403, 404, 413, 415, 429, 500, 503]),
  );
}
