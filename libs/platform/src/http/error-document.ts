import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiResponse } from '@nestjs/swagger';
import { jsonContent } from './json-content.js';

/* The two error envelopes (DESIGN 7) as the document shows them. */

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
  @ApiProperty({ type: 'string', description: 'What went wrong, in words.', example: 'An API key is required.' })
  error!: string;

  @ApiProperty({ type: 'string', description: 'A code of the error table.', example: 'AUTHENTICATION_FAILED' })
  code!: string;
}

export class DetailedError extends StandardError {
  @ApiProperty({ type: Object, required: false, description: '`_errors` nested by field.' })
  details?: object;

  @ApiProperty({ type: () => ErrorIssueDocument, isArray: true, required: false })
  issues?: ErrorIssueDocument[];
}

export class OpenaiErrorObject {
  @ApiProperty({ type: 'string', example: 'temperature must not be greater than 2.' })
  message!: string;

  @ApiProperty({ type: 'string', example: 'invalid_request_error' })
  type!: string;

  @ApiProperty({ type: 'string', nullable: true, description: 'The field at fault.', example: 'temperature' })
  param!: string | null;

  @ApiProperty({ type: 'string', description: 'A code of the error table.', example: 'INVALID_REQUEST' })
  code!: string;
}

/** `{error: {…}}`: routes that OpenAI has too. */
export class OpenaiError {
  @ApiProperty({ type: () => OpenaiErrorObject })
  error!: OpenaiErrorObject;
}

export class OpenaiDetailedError extends OpenaiError {
  @ApiProperty({ type: Object, required: false, description: '`_errors` nested by field.' })
  details?: object;

  @ApiProperty({ type: () => ErrorIssueDocument, isArray: true, required: false })
  issues?: ErrorIssueDocument[];
}

const reasons: Record<number, string> = {
  400: 'The request is wrong; the answer names the field.',
  401: 'The key is missing, wrong or inactive.',
  402: 'The balance does not cover the request.',
  403: 'The key may not do this.',
  404: 'There is no such model or character.',
  410: 'What was here is gone.',
  413: 'The body is larger than 35 MB.',
  415: 'The body is not JSON.',
  429: 'Too many requests; see `retry-after`.',
  500: 'The model or the service failed.',
  502: 'What the service asked failed, or did not answer.',
  503: 'The model is offline or full; see `retry-after`.',
  504: 'The answer took too long.',
};

/** The error answers of a route, in the envelope its callers read. */
export function ApiErrors(envelope: 'openai' | 'standard', statuses: number[]): MethodDecorator & ClassDecorator {
  const [plain, detailed] = envelope === 'openai' ? [OpenaiError, OpenaiDetailedError] : [StandardError, DetailedError];
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
