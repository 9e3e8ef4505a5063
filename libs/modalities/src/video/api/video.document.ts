import { queuedMediaDocuments } from '#gateway';
import { binaryContent } from '#platform/http';
import * as requests from '../contract/video.request.js';
import * as responses from '../contract/video.response.js';

const model = 'rife-4.6';
const upscaled = { model: 'esrgan-video', duration: 'auto' };

/** OpenAPI documents of the video routes. */
export const videoDocuments = queuedMediaDocuments('Video', {
  noun: 'a video',
  model,
  quote: {
    description: 'The current price of a job with these inputs. Videos have no price list.',
    body: requests.QuoteVideoRequest,
    examples: {
      made: { summary: 'Five seconds in 720p', value: { model, duration: '5s', resolution: '720p' } },
      upscaled: {
        summary: 'A minute, four times as large',
        value: { ...upscaled, upscale_factor: 4, reference_video_total_duration: 60 },
      },
    },
    json: responses.VideoQuoteResponse,
    errors: [400, 401, 403, 404, 413, 422, 429, 503],
  },
  queue: {
    body: requests.QueueVideoRequest,
    examples: {
      between: {
        summary: 'From a first to a last frame',
        value: {
          model,
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
        value: { ...upscaled, upscale_factor: 2, video_url: 'https://example.com/a.mp4' },
      },
    },
    json: responses.VideoQueueResponse,
    responses: {
      409: {
        description: 'The model needs confirmations (`consents`), or the first request with this key still runs.',
        json: responses.NeededConsentResponse,
      },
    },
  },
  retrieve: {
    body: requests.RetrieveVideoRequest,
    success: 'JSON while it runs and for models that deliver by link, otherwise the video.',
    json: responses.VideoStatusResponse,
    content: { 'video/mp4': binaryContent },
    responses: {
      422: {
        description: 'The job was refused for its content. It costs nothing.',
        json: responses.PolicyFailureResponse,
      },
    },
  },
  complete: { body: requests.CompleteVideoRequest, json: responses.VideoCompleteResponse },
});
