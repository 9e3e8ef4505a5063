import { binaryContent, type DocumentedRoute } from '#platform/http';
import {
  CompleteVideoRequest,
  QueueVideoRequest,
  QuoteVideoRequest,
  RetrieveVideoRequest,
} from '../contract/video.request.js';
import {
  VideoCompleteResponse,
  VideoQueueResponse,
  VideoQuoteResponse,
  VideoStatusResponse,
} from '../contract/video.response.js';

const tags = ['Video'];
const poll = { model: 'rife-4.6', queue_id: '0b7fe1b6-6a3a-4dc1-9d0e-2f7dd9a8f1c0' };

const text = { type: 'string' as const };
const members = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: 'object' as const,
  properties,
  required,
});

/** The response of `presentNeededConsent`. */
const neededConsent = members({
  error: members({ code: { ...text, enum: ['needs_consent'] }, message: text }),
  consent_flow: { ...text, enum: ['seedance'] },
  face_media_roles: {
    type: 'array',
    items: { ...text, enum: ['image', 'end_image', 'reference_image', 'video', 'reference_video'] },
  },
  consent: members({ consent_version: text, policy_text: text }),
  docs_url: text,
});

/** The response of `presentPolicyFailure`. */
const policyFailure = members({
  error: members(
    {
      message: text,
      type: { ...text, enum: ['provider_content_policy'] },
      recommended_model: text,
      credits_refunded: { type: 'boolean' },
    },
    ['message', 'type', 'credits_refunded'],
  ),
});

/** OpenAPI documents of the video routes. */
export const videoDocuments = {
  quote: {
    tags,
    operationId: 'quoteVideo',
    summary: 'Quote a video',
    description: 'The current price of a job with these inputs. Videos have no price list.',
    body: QuoteVideoRequest,
    examples: {
      made: { summary: 'Five seconds in 720p', value: { model: 'rife-4.6', duration: '5s', resolution: '720p' } },
      upscaled: {
        summary: 'A minute, four times as large',
        value: { model: 'esrgan-video', duration: 'auto', upscale_factor: 4, reference_video_total_duration: 60 },
      },
    },
    responses: { 200: { description: 'The price.', json: VideoQuoteResponse } },
    errors: [400, 401, 403, 404, 413, 422, 429, 503],
  },
  queue: {
    tags,
    operationId: 'queueVideo',
    summary: 'Queue a video',
    description: 'Queues the job and responds at once; `/video/retrieve` reports its progress.',
    body: QueueVideoRequest,
    examples: {
      between: {
        summary: 'From a first to a last frame',
        value: {
          model: 'rife-4.6',
          prompt: 'The boat drifts past the pier.',
          duration: '3s',
          image_url: 'https://example.com/first.png',
          end_image_url: 'https://example.com/last.png',
        },
      },
      words: {
        summary: 'From text, with a model that supports it',
        value: {
          model: 'animator',
          prompt: 'A boat drifts past a pier.',
          duration: '2s',
          aspect_ratio: '16:9',
          seed: 7,
        },
      },
      upscaled: {
        summary: 'A video, twice as large',
        value: { model: 'esrgan-video', duration: 'auto', upscale_factor: 2, video_url: 'https://example.com/a.mp4' },
      },
    },
    responses: {
      200: { description: 'The job is queued.', json: VideoQueueResponse },
      409: {
        description: 'The model needs confirmations (`consents`), or the first request with this key still runs.',
        content: { 'application/json': { schema: neededConsent } },
      },
    },
    errors: [400, 401, 402, 403, 404, 413, 422, 429, 500, 503],
  },
  retrieve: {
    tags,
    operationId: 'retrieveVideo',
    summary: 'Retrieve a video',
    description: 'The progress of the job, or the video. Poll about every 5 seconds.',
    body: RetrieveVideoRequest,
    examples: { poll: { summary: 'Ask', value: poll } },
    responses: {
      200: {
        description: 'JSON while it runs and for models that deliver by link, otherwise the video.',
        json: VideoStatusResponse,
        content: { 'video/mp4': binaryContent },
      },
      422: {
        description: 'The job was refused for its content. It costs nothing.',
        content: { 'application/json': { schema: policyFailure } },
      },
    },
    errors: [400, 401, 402, 403, 404, 429, 500, 503],
  },
  complete: {
    tags,
    operationId: 'completeVideo',
    summary: 'Delete a video',
    description: 'Deletes the result of a job that has ended. A running job continues, and `success` is false.',
    body: CompleteVideoRequest,
    examples: { done: { summary: 'Delete', value: poll } },
    responses: { 200: { description: 'Whether it was deleted.', json: VideoCompleteResponse } },
    errors: [400, 401, 402, 403, 404, 429, 500, 503],
  },
} satisfies Record<string, DocumentedRoute>;
