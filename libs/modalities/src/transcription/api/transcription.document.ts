import { applyDecorators } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiBody,
  ApiExtraModels,
  ApiOperation,
  ApiProduces,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { ApiErrors, jsonContent } from '#platform/http';
import { TranscriptionRequest } from '../contract/transcription.request.js';
import { TranscriptionResponse, VideoTranscriptionResponse } from '../contract/transcription.response.js';
import { VideoTranscriptionRequest } from '../contract/video-transcription.request.js';

const uploadExamples = {
  plain: { summary: 'The text alone', value: { file: '(the recording)', response_format: 'text' } },
  times: { summary: 'With the times of words', value: { file: '(the recording)', model: 'default', timestamps: true } },
};

const urlExamples = {
  video: { summary: 'What is said in a video', value: { url: 'https://example.com/talk.mp4' } },
};

/** What the document says of `POST /audio/transcriptions`. */
export function TranscriptionApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Audio', 'Transcriptions'),
    ApiBearerAuth('BearerAuth'),
    ApiExtraModels(TranscriptionRequest, TranscriptionResponse),
    ApiOperation({
      operationId: 'createTranscription',
      summary: 'Write down speech',
      description: 'The words of a recording, with the times of words and segments where the model tells them.',
    }),
    ApiBody({ type: TranscriptionRequest, required: true, examples: uploadExamples }),
    ApiProduces('application/json', 'text/plain'),
    ApiResponse({
      status: 200,
      description: 'The transcript.',
      content: {
        ...jsonContent(TranscriptionResponse),
        'text/plain': { schema: { type: 'string' }, example: 'And so my fellow Americans.' },
      },
    }),
    ApiErrors('openai', [400, 401, 402, 403, 404, 413, 415, 422, 429, 500, 502, 503, 504]),
  );
}

/** What the document says of `POST /video/transcriptions`. */
export function VideoTranscriptionApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Video', 'Transcriptions'),
    ApiBearerAuth('BearerAuth'),
    ApiExtraModels(VideoTranscriptionRequest, VideoTranscriptionResponse),
    ApiOperation({
      operationId: 'createVideoTranscription',
      summary: 'Write down what is said in a video',
      description: 'The words of a public video or recording, by the default model of transcriptions.',
    }),
    ApiBody({ type: VideoTranscriptionRequest, required: true, examples: urlExamples }),
    ApiProduces('application/json', 'text/plain'),
    ApiResponse({
      status: 200,
      description: 'The transcript.',
      content: {
        ...jsonContent(VideoTranscriptionResponse),
        'text/plain': { schema: { type: 'string' }, example: 'And so my fellow Americans.' },
      },
    }),
    ApiErrors('standard', [400, 401, 402, 403, 404, 413, 422, 429, 500, 502, 503, 504]),
  );
}
