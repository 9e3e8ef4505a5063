import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiResponse } from '@nestjs/swagger';
import { jsonContent } from './json-content.js';

/* The error envelopes in the OpenAPI document. */

export class ErrorIssueDocument {
  @ApiProperty({ type: 'string', example: 'too_big' })
  code!: string;

  @ApiProperty({ type: 'array', items: { oneOf: [{ type: 'string' }, { type: 'integer' }] }, example: ['temperature'] })
  path!: (string | number)[];

  @ApiProperty({ type: 'string', example: 'temperature must not be greater than 2' })
  message!: string;
}

/** `{error, code}`: every route that OpenAI does not have. */
export class StandardError {
  @ApiProperty({ type: 'string', description: 'Error description.', example: 'An API key is required.' })
  error!: string;

  @ApiProperty({ type: 'string', description: 'Error code.', example: 'AUTHENTICATION_FAILED' })
  code!: string;
}

export class DetailedError extends StandardError {
  @ApiProperty({ type: Object, required: false, description: 'Issues under `_errors`, nested by field.' })
  details?: object;

  @ApiProperty({ type: () => ErrorIssueDocument, isArray: true, required: false })
  issues?: ErrorIssueDocument[];
}

export class OpenaiErrorObject {
  @ApiProperty({ type: 'string', example: 'temperature must not be greater than 2.' })
  message!: string;

  @ApiProperty({ type: 'string', example: 'invalid_request_error' })
  type!: string;

  @ApiProperty({ type: 'string', nullable: true, description: 'The invalid field.', example: 'temperature' })
  param!: string | null;

  @ApiProperty({ type: 'string', description: 'Error code.', example: 'INVALID_REQUEST' })
  code!: string;
}

/** `{error: {…}}`: routes that OpenAI also has. */
export class OpenaiError {
  @ApiProperty({ type: () => OpenaiErrorObject })
  error!: OpenaiErrorObject;
}

export class OpenaiDetailedError extends OpenaiError {
  @ApiProperty({ type: Object, required: false, description: 'Issues under `_errors`, nested by field.' })
  details?: object;

  @ApiProperty({ type: () => ErrorIssueDocument, isArray: true, required: false })
  issues?: ErrorIssueDocument[];
}

export class AnthropicErrorObject {
  @ApiProperty({ type: 'string', example: 'invalid_request_error' })
  type!: string;

  @ApiProperty({ type: 'string', example: 'temperature must not be greater than 1.' })
  message!: string;
}

/** `{type, error, request_id}`: routes that Anthropic also has. */
export class AnthropicError {
  @ApiProperty({ type: 'string', enum: ['error'], example: 'error' })
  type!: 'error';

  @ApiProperty({ type: () => AnthropicErrorObject })
  error!: AnthropicErrorObject;

  @ApiProperty({ type: 'string', nullable: true, example: '8f3a1b2c4d5e6f70-SLC' })
  request_id!: string | null;
}

/** Who else has the route: its clients expect their error object. `standard`: nobody. */
export type ErrorEnvelope = 'anthropic' | 'openai' | 'standard';

/** Classes of an error, and of one that lists invalid fields. */
const envelopes = {
  anthropic: [AnthropicError, AnthropicError],
  openai: [OpenaiError, OpenaiDetailedError],
  standard: [StandardError, DetailedError],
} as const;

const reasons: Record<number, string> = {
  400: 'The request is invalid; the response names the field.',
  401: 'The key is missing, invalid or inactive.',
  402: 'The balance does not cover the request.',
  403: 'The key has no permission for this request.',
  404: 'The model or character does not exist.',
  410: 'The resource no longer exists.',
  413: 'The body is larger than 35 MB.',
  415: 'The body is not JSON.',
  429: 'Too many requests; see `retry-after`.',
  500: 'The model or the service failed.',
  502: 'A dependency of the service failed or did not respond.',
  503: 'The model is offline or at capacity; see `retry-after`.',
  504: 'The response took too long.',
};

/** Declares the error responses of a route in the envelope that its clients expect. */
export function ApiErrors(envelope: ErrorEnvelope, statuses: number[]): MethodDecorator & ClassDecorator {
  const [plain, detailed] = envelopes[envelope];
  return applyDecorators(
    ApiExtraModels(plain, detailed),
    ...statuses.map((status) =>
      ApiResponse({
        status,
        description: reasons[status] ?? 'Error.',
        content: jsonContent(status === 400 ? detailed : plain),
      }),
    ),
  );
}
