import { deprecationHeaders } from '#gateway';
import { binaryContent, type DocumentedRoute } from '#platform/http';
import { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import { EditImagesRequest, VaryImageRequest } from '../contract/openai-image.request.js';
import * as requests from '../contract/image.request.js';
import {
  GenerateImageResponse,
  type ImageCompletedEvent,
  ImageStyleList,
  SimpleGenerateImageResponse,
} from '../contract/image.response.js';

const text = { schema: { type: 'string' } };
const flag = { schema: { type: 'boolean' } };
const moderated = {
  'x-service-is-content-violation': {
    description: 'The prompt violates the content policy; absent where no policy checks it.',
    ...flag,
  },
  'x-service-is-blurred': { description: 'The image had adult content and is blurred; only in safe mode.', ...flag },
};
/** Response headers of routes whose model the client chooses. */
const chosen = { ...moderated, ...deprecationHeaders };
const enhanced = {
  ...chosen,
  'x-service-enhanced-prompt': { description: 'The rewritten prompt, URL-encoded.', ...text },
};
const named = {
  ...enhanced,
  'x-service-model-id': { description: 'Id of the model that ran.', ...text },
  'x-service-model-name': { description: 'Its name.', ...text },
};

const common = { tags: ['Image'], errors: [400, 401, 402, 403, 404, 413, 415, 422, 429, 500, 503, 504] };
const png = ['image/png'];
const images = ['image/png', 'image/jpeg', 'image/webp'];
const contentOf = (types: string[]) => Object.fromEntries(types.map((type) => [type, binaryContent]));

/** A route whose response is the bytes of an image. */
function imageRoute(
  produces: string[],
  headers: Record<string, object>,
  route: Omit<DocumentedRoute, keyof typeof common | 'responses'>,
): DocumentedRoute {
  return {
    ...common,
    ...route,
    produces,
    responses: { 200: { description: 'The image.', content: contentOf(produces), headers } },
  };
}

/** A PNG of 256 by 256 pixels, blue on the left, transparent on the right: examples work as they are. */
const sampleImage =
  'iVBORw0KGgoAAAANSUhEUgAAAQAAAAEAAQMAAABmvDolAAAABlBMVEWHzuv////xNys+AAAAAnRSTlP/AOW3MEoAAAA0SURBVHja7cqhAQAADAIg/396' +
  '615ggExSrkQQBEEQBEEQBEEQBEEQBEEQBEEQBEEQBGE7PAL48OL9NCfdAAAAAElFTkSuQmCC';

const completed: Omit<ImageCompletedEvent, 'type'> = {
  b64_json: 'iVBORw0KGgo…',
  created_at: 1_800_000_000,
  size: '512x512',
  quality: 'auto',
  background: 'auto',
  output_format: 'png',
  usage: {
    input_tokens: 0,
    input_tokens_details: { image_tokens: 0, text_tokens: 0 },
    output_tokens: 0,
    total_tokens: 0,
  },
};

/** The stream of a route that OpenAI clients call: one event of `type` per image. */
function imageEvents(type: ImageCompletedEvent['type']) {
  const event: ImageCompletedEvent = { type, ...completed };
  const example = `event: ${type}\ndata: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`;
  return { 'text/event-stream': { schema: { type: 'string' }, example } };
}

/** OpenAPI documents of the image routes. */
export const imageDocuments = {
  styles: {
    tags: common.tags,
    operationId: 'listImageStyles',
    summary: 'List style presets',
    description: 'The names that `style_preset` of `POST /image/generate` takes.',
    responses: { 200: { description: 'The names.', json: ImageStyleList } },
    errors: [401, 429, 500],
    security: 'inherited',
  },
  upscale: imageRoute(png, moderated, {
    operationId: 'upscaleImage',
    summary: 'Upscale an image',
    description: 'Doubles or quadruples the sides with sharp edges; returns a PNG.',
    body: requests.UpscaleImageRequest,
    example: { image: sampleImage, scale: 2 },
  }),
  removeBackground: imageRoute(png, moderated, {
    operationId: 'backgroundRemoveImage',
    summary: 'Remove the background',
    description: 'Returns a PNG with a transparent background.',
    body: requests.BackgroundRemoveImageRequest,
    example: { image_url: 'https://example.com/portrait.jpg' },
  }),
  edit: imageRoute(images, named, {
    operationId: 'editImage',
    summary: 'Edit an image',
    description: 'Follows a prompt; models that repair images fill the transparent part from its surroundings.',
    body: requests.EditImageRequest,
    example: { prompt: 'Take the sign away', image: sampleImage },
  }),
  multiEdit: imageRoute(images, enhanced, {
    operationId: 'multiEditImage',
    summary: 'Edit an image with other images',
    description: 'The first image is edited; the others are masks (white is filled) or layers, depending on the model.',
    body: requests.MultiEditImageRequest,
    example: { prompt: 'Take the sign away', images: [sampleImage, sampleImage] },
  }),
  generate: {
    ...common,
    operationId: 'generateImage',
    summary: 'Generate images',
    description: 'JSON with base64, or with `return_binary` the bytes of one image.',
    body: GenerateImageRequest,
    example: { model: 'default', prompt: 'A red bird in the rain' },
    produces: ['application/json', ...images],
    responses: {
      200: { description: 'The images.', headers: enhanced, json: GenerateImageResponse, content: contentOf(images) },
    },
  },
  generateSimply: {
    ...common,
    operationId: 'simpleGenerateImage',
    summary: 'Generate an image in the format of OpenAI clients',
    description: 'One image, as base64 or as a data URL; with `stream`, each image as a server-sent event.',
    body: SimpleGenerateImageRequest,
    example: { prompt: 'A red bird in the rain', size: '512x512' },
    produces: ['application/json', 'text/event-stream'],
    responses: {
      200: {
        description: 'The image.',
        headers: chosen,
        json: SimpleGenerateImageResponse,
        content: imageEvents('image_generation.completed'),
      },
    },
    envelope: 'openai',
  },
  editAsOpenai: {
    ...common,
    operationId: 'editImages',
    summary: 'Edit an image in the format of OpenAI clients',
    description:
      'Changes an image, or the part where the mask is transparent. Models of type `inpaint` and `image` serve it; the default model of type `inpaint` is chosen first, or for an opaque image without a mask that of type `image`.',
    body: EditImagesRequest,
    example: { prompt: 'A blue apple', image: sampleImage },
    produces: ['application/json', 'text/event-stream'],
    responses: {
      200: {
        description: 'The images; with `stream`, each as a server-sent event.',
        headers: chosen,
        json: SimpleGenerateImageResponse,
        content: imageEvents('image_edit.completed'),
      },
    },
    envelope: 'openai',
  },
  vary: {
    ...common,
    operationId: 'varyImage',
    summary: 'Vary an image in the format of OpenAI clients',
    description: 'Makes images like the given one with a model that generates images.',
    body: VaryImageRequest,
    example: { image: sampleImage, n: 2 },
    produces: ['application/json'],
    responses: { 200: { description: 'The images.', headers: chosen, json: SimpleGenerateImageResponse } },
    envelope: 'openai',
  },
} satisfies Record<string, DocumentedRoute>;
