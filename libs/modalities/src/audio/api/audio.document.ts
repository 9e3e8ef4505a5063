import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { ApiJsonRoute, type DocumentedRoute, jsonContent } from '#platform/http';
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

interface AudioRoute extends Omit<DocumentedRoute, 'tag' | 'examples'> {
  example: object;
  /** Of music, where it differs. */
  music?: object;
}

const queueId = '0b7fe1b6-6a3a-4dc1-9d0e-2f7dd9a8f1c0';
const audio = { schema: { type: 'string' as const, format: 'binary' } };

function route({ example, music, ...rest }: AudioRoute): MethodDecorator {
  const examples = {
    usual: { summary: rest.summary, value: example },
    ...(music && { music: { summary: 'Of music', value: music } }),
  };
  return ApiJsonRoute({ tag: 'Audio', examples, ...rest });
}

/** What the document says of `POST /audio/quote`. */
export function QuoteAudioApiDocument(): MethodDecorator {
  return applyDecorators(
    route({
      operationId: 'quoteAudio',
      summary: 'Ask what queued sound costs',
      description: 'The price of a job, now. It needs no key.',
      body: QuoteAudioRequest,
      answer: AudioQuoteResponse,
      example: { model: 'kokoro-82m', character_count: 12_000 },
      music: { model: 'composer', duration_seconds: 20 },
      errors: [400, 403, 404, 429, 500, 503],
      isPublic: true,
    }),
    ApiResponse({ status: 200, description: 'The price.', content: jsonContent(AudioQuoteResponse) }),
  );
}

/** What the document says of `POST /audio/queue`. */
export function QueueAudioApiDocument(): MethodDecorator {
  return applyDecorators(
    route({
      operationId: 'queueAudio',
      summary: 'Have a long text read, or music made',
      description: 'Takes the job in and answers at once; `/audio/retrieve` tells how it is doing.',
      body: QueueAudioRequest,
      answer: AudioQueueResponse,
      example: {
        model: 'kokoro-82m',
        prompt: 'Chapter one.\n\nIt was a quiet morning.\n\n---\n\nChapter two.\n\nThen the rain came.',
        voice: 'af_sky',
      },
      music: { model: 'composer', prompt: 'slow jazz with a soft piano', duration_seconds: 20, seed: 7 },
      errors: [400, 401, 402, 403, 404, 413, 422, 429, 500, 503],
    }),
    ApiResponse({ status: 200, description: 'The job is in.', content: jsonContent(AudioQueueResponse) }),
  );
}

/** What the document says of `POST /audio/retrieve`. */
export function RetrieveAudioApiDocument(): MethodDecorator {
  return applyDecorators(
    route({
      operationId: 'retrieveAudio',
      summary: 'Ask for queued sound',
      description: 'How the job is doing, or the sound. Ask every 5 seconds or so.',
      body: RetrieveAudioRequest,
      answer: AudioStatusResponse,
      example: { model: 'kokoro-82m', queue_id: queueId },
      errors: [400, 401, 402, 403, 404, 422, 429, 500, 503],
    }),
    ApiResponse({
      status: 200,
      description: 'JSON while it runs, then the sound.',
      content: { ...jsonContent(AudioStatusResponse), 'audio/mpeg': audio, 'audio/wav': audio, 'audio/flac': audio },
    }),
  );
}

/** What the document says of `POST /audio/complete`. */
export function CompleteAudioApiDocument(): MethodDecorator {
  return applyDecorators(
    route({
      operationId: 'completeAudio',
      summary: 'Delete queued sound',
      description: 'Deletes the result of a job that has ended. A running job goes on, and the answer is false.',
      body: CompleteAudioRequest,
      answer: AudioCompleteResponse,
      example: { model: 'kokoro-82m', queue_id: queueId },
      errors: [400, 401, 402, 403, 404, 429, 500, 503],
    }),
    ApiResponse({ status: 200, description: 'Whether it is deleted.', content: jsonContent(AudioCompleteResponse) }),
  );
}
