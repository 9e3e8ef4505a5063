import { applyDecorators, HttpCode } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiBody,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiProduces,
  ApiResponse,
  type ApiResponseNoStatusOptions,
  ApiSecurity,
  ApiTags,
} from '@nestjs/swagger';
import { ApiErrors, type ErrorEnvelope } from './error-document.js';
import { jsonContent, type SchemaClass } from './json-content.js';

type ResponseContent = NonNullable<(ApiResponseNoStatusOptions & { content?: object })['content']>;
type ResponseHeaders = NonNullable<ApiResponseNoStatusOptions['headers']>;

/** The parts of a response beside its description; values are OpenAPI objects. */
export interface DocumentedResponse {
  description?: string;
  /** The class of its JSON. */
  json?: SchemaClass;
  /** Content of other types, or JSON that no class describes. */
  content?: Record<string, object>;
  headers?: Record<string, object>;
}

export interface DocumentedRoute {
  tags: string[];
  operationId: string;
  summary: string;
  description?: string;
  /** Absent for routes that take none. */
  body?: SchemaClass;
  /** By name. A single one may be given as `example`. */
  examples?: Record<string, { summary?: string; value: object }>;
  example?: object;
  /** Classes that appear in the document beside those of `responses`. */
  models?: SchemaClass[];
  /** By status. */
  responses: Record<number, DocumentedResponse>;
  /** Lists the types of the response at the operation as well. */
  produces?: string[];
  /** Statuses of errors. */
  errors: number[];
  /** Default: the standard envelope. */
  envelope?: ErrorEnvelope;
  /**
   * Default: an API key. `any-key` names both headers for it, `inherited` says nothing beside what the document says of
   * all operations, `none` that no key is taken.
   */
  security?: 'any-key' | 'inherited' | 'none';
  deprecated?: true;
  /** Descriptions of optional request headers, by name. */
  requestHeaders?: Record<string, string>;
  /** Its JSON is compressed for clients that take that. */
  compressed?: true;
}

/** A file as a response shows it. */
export const binaryContent = { schema: { type: 'string' as const, format: 'binary' } };

const packed = {
  'Content-Encoding': { description: 'How it is packed.', schema: { type: 'string', enum: ['gzip', 'br'] } },
};

/** What the OpenAPI document says of a route. Its first status below 300 is that of a response that sets none. */
export function ApiRoute(route: DocumentedRoute): MethodDecorator {
  const { tags, operationId, summary, description, body, example, models = [], responses, produces = [] } = route;
  const { examples = { plain: { summary, value: example ?? {} } }, errors, envelope = 'standard' } = route;
  const classes = Object.values(responses).flatMap(({ json }) => json ?? []);
  return applyDecorators(
    ApiTags(...tags),
    ...successStatus(responses).map((status) => HttpCode(status)),
    ...(route.security === undefined || route.security === 'any-key' ? [ApiBearerAuth('BearerAuth')] : []),
    ...(route.security === 'any-key' ? [ApiSecurity('ApiKeyAuth')] : []),
    ApiExtraModels(...(body ? [body] : []), ...classes, ...models),
    ApiOperation({
      operationId,
      summary,
      ...(description !== undefined && { description }),
      ...(route.deprecated && { deprecated: true }),
      ...(route.security === 'none' && { security: [] }),
    }),
    ...(route.compressed
      ? [ApiHeader({ name: 'Accept-Encoding', required: false, description: acceptEncoding(responses) })]
      : []),
    ...Object.entries(route.requestHeaders ?? {}).map(([name, about]) =>
      ApiHeader({ name, required: false, description: about }),
    ),
    ...(body ? [ApiBody({ type: body, required: true, examples })] : []),
    ...(produces.length > 0 ? [ApiProduces(...produces)] : []),
    ApiErrors(envelope, errors),
    ...Object.entries(responses).map(([status, response]) =>
      ApiResponse({ status: Number(status), ...describe(response, route.compressed) }),
    ),
  );
}

/** The lowest status of a success, if there is one. */
function successStatus(responses: DocumentedRoute['responses']): number[] {
  const statuses = Object.keys(responses).map(Number);
  return statuses.filter((status) => status < 300).slice(0, 1);
}

function acceptEncoding({ 200: success }: DocumentedRoute['responses']): string {
  const streams = success?.content?.['text/event-stream'] !== undefined;
  return streams ? '`gzip`, `br`; for answers that do not stream.' : '`gzip`, `br`.';
}

function describe(
  { description = '', json, content, headers }: DocumentedResponse,
  compressed = false,
): ApiResponseNoStatusOptions {
  const all = { ...(compressed ? packed : {}), ...headers };
  return {
    description,
    ...(Object.keys(all).length > 0 && { headers: all as ResponseHeaders }),
    ...((json ?? content) && { content: { ...(json && jsonContent(json)), ...content } as ResponseContent }),
  };
}
