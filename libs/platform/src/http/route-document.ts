import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiExtraModels, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiErrors } from './error-document.js';
import type { WireClass } from './json-content.js';

export interface DocumentedRoute {
  tag: string;
  operationId: string;
  summary: string;
  description: string;
  body: WireClass;
  /** Of JSON, among what it answers; every answer is told beside this. */
  answer: WireClass;
  examples: Record<string, { summary: string; value: object }>;
  errors: number[];
  /** It needs no key. */
  isPublic?: true;
}

/** What the document says of a route that takes JSON and fails in the standard envelope. */
export function ApiJsonRoute(route: DocumentedRoute): MethodDecorator {
  const { tag, operationId, summary, description, body, answer, examples, errors, isPublic } = route;
  return applyDecorators(
    ApiTags(tag),
    ...(isPublic ? [] : [ApiBearerAuth('BearerAuth')]),
    ApiExtraModels(body, answer),
    ApiOperation({ operationId, summary, description }),
    ApiBody({ type: body, required: true, examples }),
    ApiErrors('standard', errors),
  );
}
