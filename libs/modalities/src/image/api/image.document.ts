import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { ApiErrors, binaryContent, type DocumentedRoute } from '#platform/http';
import { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  MultiEditImageRequest,
  UpscaleImageRequest,
} from '../contract/image.request.js';
import { GenerateImageResponse, ImageStyleList } from '../contract/image.response.js';

const text = { schema: { type: 'string' as const } };
const flag = { schema: { type: 'boolean' as const } };
const violation = { 'x-service-is-content-violation': { description: 'Always false: no image is refused.', ...flag } };
/** Response headers of routes whose model the client chooses. */
const moderation = {
  ...violation,
  'x-service-model-deprecation-warning': { description: 'The model will be removed.', ...text },
  'x-service-model-deprecation-date': { description: 'When.', schema: { type: 'string', format: 'date-time' } },
  'x-service-deprecated': { description: 'The model will be removed.', schema: { type: 'string', enum: ['true'] } },
  'x-service-deprecated-replacement': { description: 'The model to use instead.', ...text },
};
const blurring = { 'x-service-is-blurred': { description: 'The image had adult content and is blurred.', ...flag } };
const enhancing = { 'x-service-enhanced-prompt': { description: 'The rewritten prompt, URL-encoded.', ...text } };
const naming = {
  'x-service-model-id': { description: 'Id of the model that ran.', ...text },
  'x-service-model-name': { description: 'Its name.', ...text },
};

const common = { tags: ['Image'], errors: [400, 401, 402, 403, 404, 413, 415, 422, 429, 500, 503, 504] };
const png = ['image/png'];
const editTypes = ['image/png', 'image/jpeg', 'image/webp'];
const imagesOf = (types: string[]) => Object.fromEntries(types.map((type) => [type, binaryContent]));

type ImageRoute = Pick<DocumentedRoute, 'operationId' | 'summary' | 'description' | 'body' | 'example'> & {
  produces: string[];
  headers: Record<string, object>;
};

/** A route whose response is the bytes of an image. */
function imageRoute({ headers, ...route }: ImageRoute): DocumentedRoute {
  const responses = { 200: { description: 'The image.', content: imagesOf(route.produces), headers } };
  return { ...common, ...route, responses };
}

export const upscaleDocument = imageRoute({
  operationId: 'upscaleImage',
  summary: 'Upscale an image',
  description: 'Doubles or quadruples the sides with sharp edges; returns a PNG.',
  body: UpscaleImageRequest,
  example: { image: 'iVBORw0KGgo…', scale: 2 },
  produces: png,
  headers: { ...violation, ...blurring },
});

export const backgroundRemoveDocument = imageRoute({
  operationId: 'backgroundRemoveImage',
  summary: 'Remove the background',
  description: 'Returns a PNG with a transparent background.',
  body: BackgroundRemoveImageRequest,
  example: { image_url: 'https://example.com/portrait.jpg' },
  produces: png,
  headers: { ...violation, ...blurring },
});

export const editDocument = imageRoute({
  operationId: 'editImage',
  summary: 'Edit an image',
  description: 'Follows a prompt; models that repair images fill the transparent part from its surroundings.',
  body: EditImageRequest,
  example: { prompt: 'Take the sign away', image: 'iVBORw0KGgo…' },
  produces: editTypes,
  headers: { ...moderation, ...blurring, ...enhancing, ...naming },
});

export const multiEditDocument = imageRoute({
  operationId: 'multiEditImage',
  summary: 'Edit an image with other images',
  description: 'The first image is edited; the others are masks (white is filled) or layers, depending on the model.',
  body: MultiEditImageRequest,
  example: { prompt: 'Take the sign away', images: ['iVBORw0KGgo…', 'iVBORw0KGgo…'] },
  produces: editTypes,
  headers: { ...moderation, ...blurring, ...enhancing },
});

export const generateDocument: DocumentedRoute = {
  ...common,
  operationId: 'generateImage',
  summary: 'Generate images',
  description: 'JSON with base64, or with `return_binary` the bytes of one image.',
  body: GenerateImageRequest,
  examples: { plain: { summary: 'One image', value: { model: 'default', prompt: 'A red bird in the rain' } } },
  produces: ['application/json', ...editTypes],
  responses: {
    200: {
      description: 'The images.',
      headers: { ...moderation, ...blurring, ...enhancing },
      json: GenerateImageResponse,
      content: imagesOf(editTypes),
    },
  },
};

const item = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] });

const simpleResponse = {
  type: 'object',
  properties: {
    created: { type: 'integer', example: 1_800_000_000 },
    data: { type: 'array', items: { anyOf: [item('b64_json'), item('url')] } },
  },
  required: ['created', 'data'],
};

export const simpleGenerateDocument: DocumentedRoute = {
  ...common,
  operationId: 'simpleGenerateImage',
  summary: 'Generate an image in the format of OpenAI clients',
  description: 'One image, as base64 or as a data URL.',
  body: SimpleGenerateImageRequest,
  examples: { plain: { summary: 'One image', value: { prompt: 'A red bird in the rain', size: '512x512' } } },
  produces: ['application/json'],
  responses: {
    200: {
      description: 'The image.',
      headers: { ...moderation, ...blurring },
      content: { 'application/json': { schema: simpleResponse } },
    },
  },
  envelope: 'openai',
};

export function StylesApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Image'),
    ApiOperation({ operationId: 'listImageStyles', summary: 'Names for `style_preset`' }),
    ApiResponse({ status: 200, description: 'The names.', type: ImageStyleList }),
    ApiErrors('standard', [401, 429, 500]),
  );
}
