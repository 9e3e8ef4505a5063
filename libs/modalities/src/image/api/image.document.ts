import { applyDecorators } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiBody,
  ApiExtraModels,
  ApiOperation,
  ApiProduces,
  ApiResponse,
  type ApiResponseNoStatusOptions,
  ApiTags,
} from '@nestjs/swagger';
import { ApiErrors, jsonContent } from '#platform/http';
import { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  MultiEditImageRequest,
  UpscaleImageRequest,
} from '../contract/image.request.js';
import { GenerateImageResponse, ImageStyleList } from '../contract/image.response.js';

type RequestClass = new () => object;
type ResponseHeaders = NonNullable<ApiResponseNoStatusOptions['headers']>;

const failures = [400, 401, 402, 403, 404, 413, 415, 422, 429, 500, 503, 504];
const binary = { schema: { type: 'string' as const, format: 'binary' } };
const text = { schema: { type: 'string' as const } };
/** What the answer of a route with a model of the caller's choice says of it. */
const modelHeaders = {
  'x-service-model-deprecation-warning': { description: 'The model will be removed.', ...text },
  'x-service-model-deprecation-date': {
    description: 'When.',
    schema: { type: 'string' as const, format: 'date-time' },
  },
  'x-service-deprecated': {
    description: 'The model will be removed.',
    schema: { type: 'string' as const, enum: ['true'] },
  },
  'x-service-deprecated-replacement': { description: 'The model to use instead.', ...text },
};
const violation = {
  'x-service-is-content-violation': {
    description: 'Always false: nothing is refused.',
    schema: { type: 'boolean' as const },
  },
};
const moderation = { ...violation, ...modelHeaders };
const blurring = {
  'x-service-is-blurred': {
    description: 'The picture was for adults and is blurred.',
    schema: { type: 'boolean' as const },
  },
};
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

interface ImageRoute {
  operationId: string;
  summary: string;
  description: string;
  body: RequestClass;
  example: object;
  contentTypes: string[];
  headers?: Record<string, object>;
}

/** A route that answers with the bytes of a picture. */
function imageDocument(route: ImageRoute): MethodDecorator {
  const { operationId, summary, description, body, example, contentTypes, headers } = route;
  return applyDecorators(
    ApiTags('Image'),
    ApiBearerAuth('BearerAuth'),
    ApiOperation({ operationId, summary, description }),
    ApiBody({ type: body, required: true, examples: { plain: { summary, value: example } } }),
    ApiProduces(...contentTypes),
    ApiResponse({
      status: 200,
      description: 'The picture.',
      content: Object.fromEntries(contentTypes.map((type) => [type, binary])),
      ...(headers === undefined ? {} : { headers: headers as ResponseHeaders }),
    }),
    ApiErrors('standard', failures),
  );
}

const editTypes = ['image/png', 'image/jpeg', 'image/webp'];

export function UpscaleApiDocument(): MethodDecorator {
  return imageDocument({
    operationId: 'upscaleImage',
    summary: 'Make a picture larger',
    description: 'Twice or four times the sides, with sharp edges; answers a PNG.',
    body: UpscaleImageRequest,
    example: { image: 'iVBORw0KGgo…', scale: 2 },
    contentTypes: ['image/png'],
    headers: { ...violation, ...blurring },
  });
}

export function BackgroundRemoveApiDocument(): MethodDecorator {
  return imageDocument({
    operationId: 'backgroundRemoveImage',
    summary: 'Cut out what stands in front',
    description: 'Answers a PNG whose background is transparent.',
    body: BackgroundRemoveImageRequest,
    example: { image_url: 'https://example.com/portrait.jpg' },
    contentTypes: ['image/png'],
    headers: { ...violation, ...blurring },
  });
}

export function EditApiDocument(): MethodDecorator {
  return imageDocument({
    operationId: 'editImage',
    summary: 'Change a picture',
    description: 'By a prompt; models that repair pictures fill the transparent part from what surrounds it.',
    body: EditImageRequest,
    example: { prompt: 'Take the sign away', image: 'iVBORw0KGgo…' },
    contentTypes: editTypes,
    headers: { ...moderation, ...blurring, ...enhancing, ...naming },
  });
}

export function MultiEditApiDocument(): MethodDecorator {
  return imageDocument({
    operationId: 'multiEditImage',
    summary: 'Change a picture with the help of others',
    description: 'The first picture is changed; the others are masks (white is filled) or layers, as the model takes.',
    body: MultiEditImageRequest,
    example: { prompt: 'Take the sign away', images: ['iVBORw0KGgo…', 'iVBORw0KGgo…'] },
    contentTypes: editTypes,
    headers: { ...moderation, ...blurring, ...enhancing },
  });
}

export function GenerateApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Image'),
    ApiBearerAuth('BearerAuth'),
    ApiExtraModels(GenerateImageResponse),
    ApiOperation({
      operationId: 'generateImage',
      summary: 'Make pictures from words',
      description: 'JSON with base64, or with `return_binary` the bytes of one picture.',
    }),
    ApiBody({
      type: GenerateImageRequest,
      required: true,
      examples: { plain: { summary: 'One picture', value: { model: 'default', prompt: 'A red bird in the rain' } } },
    }),
    ApiProduces('application/json', ...editTypes),
    ApiResponse({
      status: 200,
      description: 'The pictures.',
      headers: { ...moderation, ...blurring, ...enhancing },
      content: {
        ...jsonContent(GenerateImageResponse),
        ...Object.fromEntries(editTypes.map((type) => [type, binary])),
      },
    }),
    ApiErrors('standard', failures),
  );
}

export function SimpleGenerateApiDocument(): MethodDecorator {
  const item = (name: string) => ({
    type: 'object' as const,
    properties: { [name]: { type: 'string' as const } },
    required: [name],
  });
  return applyDecorators(
    ApiTags('Image'),
    ApiBearerAuth('BearerAuth'),
    ApiOperation({
      operationId: 'simpleGenerateImage',
      summary: 'Make a picture from words, as OpenAI clients ask for it',
      description: 'One picture, as base64 or as a data URL.',
    }),
    ApiBody({
      type: SimpleGenerateImageRequest,
      required: true,
      examples: { plain: { summary: 'One picture', value: { prompt: 'A red bird in the rain', size: '512x512' } } },
    }),
    ApiProduces('application/json'),
    ApiResponse({
      status: 200,
      description: 'The picture.',
      headers: { ...moderation, ...blurring },
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: {
              created: { type: 'integer', example: 1_800_000_000 },
              data: { type: 'array', items: { anyOf: [item('b64_json'), item('url')] } },
            },
            required: ['created', 'data'],
          },
        },
      },
    }),
    ApiErrors('openai', failures),
  );
}

export function StylesApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Image'),
    ApiOperation({ operationId: 'listImageStyles', summary: 'Names of looks for `style_preset`' }),
    ApiResponse({ status: 200, description: 'The names.', type: ImageStyleList }),
    ApiErrors('standard', [401, 429, 500]),
  );
}
