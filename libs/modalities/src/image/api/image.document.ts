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
const violation = { 'x-service-is-content-violation': { description: 'Always false: nothing is refused.', ...flag } };
/** What the answer of a route with a model of the caller's choice says of it. */
const moderation = {
  ...violation,
  'x-service-model-deprecation-warning': { description: 'The model will be removed.', ...text },
  'x-service-model-deprecation-date': { description: 'When.', schema: { type: 'string', format: 'date-time' } },
  'x-service-deprecated': { description: 'The model will be removed.', schema: { type: 'string', enum: ['true'] } },
  'x-service-deprecated-replacement': { description: 'The model to use instead.', ...text },
};
const blurring = { 'x-service-is-blurred': { description: 'The picture was for adults and is blurred.', ...flag } };
const enhancing = {
  'x-service-enhanced-prompt': {
    description: 'The prompt as it was rewritten, URL-encoded; only where it was.',
    ...text,
  },
};
const naming = {
  'x-service-model-id': { description: 'Of the model that answered.', ...text },
  'x-service-model-name': { description: 'Its name.', ...text },
};

const common = { tags: ['Image'], errors: [400, 401, 402, 403, 404, 413, 415, 422, 429, 500, 503, 504] };
const png = ['image/png'];
const editTypes = ['image/png', 'image/jpeg', 'image/webp'];
const imagesOf = (types: string[]) => Object.fromEntries(types.map((type) => [type, binaryContent]));

type ImageRoute = Pick<DocumentedRoute, 'operationId' | 'summary' | 'description' | 'body' | 'example'>;

/** A route that answers with the bytes of a picture. */
function imageRoute(route: ImageRoute, produces: string[], headers: Record<string, object>): DocumentedRoute {
  const responses = { 200: { description: 'The picture.', content: imagesOf(produces), headers } };
  return { ...common, ...route, produces, responses };
}

export const upscaleDocument = imageRoute(
  {
    operationId: 'upscaleImage',
    summary: 'Make a picture larger',
    description: 'Twice or four times the sides, with sharp edges; answers a PNG.',
    body: UpscaleImageRequest,
    example: { image: 'iVBORw0KGgo…', scale: 2 },
  },
  png,
  { ...violation, ...blurring },
);

export const backgroundRemoveDocument = imageRoute(
  {
    operationId: 'backgroundRemoveImage',
    summary: 'Cut out what stands in front',
    description: 'Answers a PNG whose background is transparent.',
    body: BackgroundRemoveImageRequest,
    example: { image_url: 'https://example.com/portrait.jpg' },
  },
  png,
  { ...violation, ...blurring },
);

export const editDocument = imageRoute(
  {
    operationId: 'editImage',
    summary: 'Change a picture',
    description: 'By a prompt; models that repair pictures fill the transparent part from what surrounds it.',
    body: EditImageRequest,
    example: { prompt: 'Take the sign away', image: 'iVBORw0KGgo…' },
  },
  editTypes,
  { ...moderation, ...blurring, ...enhancing, ...naming },
);

export const multiEditDocument = imageRoute(
  {
    operationId: 'multiEditImage',
    summary: 'Change a picture with the help of others',
    description: 'The first picture is changed; the others are masks (white is filled) or layers, as the model takes.',
    body: MultiEditImageRequest,
    example: { prompt: 'Take the sign away', images: ['iVBORw0KGgo…', 'iVBORw0KGgo…'] },
  },
  editTypes,
  { ...moderation, ...blurring, ...enhancing },
);

export const generateDocument: DocumentedRoute = {
  ...common,
  operationId: 'generateImage',
  summary: 'Make pictures from words',
  description: 'JSON with base64, or with `return_binary` the bytes of one picture.',
  body: GenerateImageRequest,
  examples: { plain: { summary: 'One picture', value: { model: 'default', prompt: 'A red bird in the rain' } } },
  produces: ['application/json', ...editTypes],
  responses: {
    200: {
      description: 'The pictures.',
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
  summary: 'Make a picture from words, as OpenAI clients ask for it',
  description: 'One picture, as base64 or as a data URL.',
  body: SimpleGenerateImageRequest,
  examples: { plain: { summary: 'One picture', value: { prompt: 'A red bird in the rain', size: '512x512' } } },
  produces: ['application/json'],
  responses: {
    200: {
      description: 'The picture.',
      headers: { ...moderation, ...blurring },
      content: { 'application/json': { schema: simpleResponse } },
    },
  },
  envelope: 'openai',
};

export function StylesApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Image'),
    ApiOperation({ operationId: 'listImageStyles', summary: 'Names of looks for `style_preset`' }),
    ApiResponse({ status: 200, description: 'The names.', type: ImageStyleList }),
    ApiErrors('standard', [401, 429, 500]),
  );
}
