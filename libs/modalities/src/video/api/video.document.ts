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

/** What `presentNeededConsent` answers. */
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

/** What `presentPolicyFailure` answers. */
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

/** What the document says of the routes of videos. */
export const videoDocuments = {
  quote: {
    tags,
    operationId: 'quoteVideo',
    summary: 'Ask what a video costs',
    description: 'The price of a job with these inputs, now. Videos have no price list.',
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
    summary: 'Have a video made',
    description: 'Takes the job in and answers at once; `/video/retrieve` tells how it is doing.',
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
        summary: 'From words, with a model that can',
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
      200: { description: 'The job is in.', json: VideoQueueResponse },
      409: {
        description: 'The model asks for confirmations (`consents`), or the first request with this key still runs.',
        content: { 'application/json': { schema: neededConsent } },
      },
    },
    errors: [400, 401, 402, 403, 404, 413, 422, 429, 500, 503],
  },
  retrieve: {
    tags,
    operationId: 'retrieveVideo',
    summary: 'Ask for a video',
    description: 'How the job is doing, or the video. Ask every 5 seconds or so.',
    body: RetrieveVideoRequest,
    examples: { poll: { summary: 'Ask', value: poll } },
    responses: {
      200: {
        description: 'JSON while it runs, and of models that deliver by link; else the video.',
        json: VideoStatusResponse,
        content: { 'video/mp4': binaryContent },
      },
      422: {
        description: 'The job was refused for what it shows. It costs nothing.',
        content: { 'application/json': { schema: policyFailure } },
      },
    },
    errors: [400, 401, 402, 403, 404, 429, 500, 503],
  },
  complete: {
    tags,
    operationId: 'completeVideo',
    summary: 'Delete a video',
    description: 'Deletes the result of a job that has ended. A running job goes on, and the answer is false.',
    body: CompleteVideoRequest,
    examples: { done: { summary: 'Delete', value: poll } },
    responses: { 200: { description: 'Whether it is deleted.', json: VideoCompleteResponse } },
    errors: [400, 401, 402, 403, 404, 429, 500, 503],
  },
} satisfies Record<string, DocumentedRoute>;
