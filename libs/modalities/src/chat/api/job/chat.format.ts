import type { ChatJobFormat } from '../../contract/chat.job.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';

/** The format that a request names, in either field; undefined where the answer may be any text. */
export function formatOf(request: ChatCompletionRequest): ChatJobFormat | undefined {
  const { response_format: format, response_schema: schema } = request;
  if (format?.type === 'json_object') {
    // Several servers take the schema here, and their clients send it so.
    return format.schema
      ? { type: 'json-schema', schema: format.schema, param: 'response_format.schema' }
      : { type: 'json-object', param: 'response_format' };
  }
  if (format?.type === 'regex') {
    return { type: 'regex', pattern: format.pattern ?? '', param: 'response_format.pattern' };
  }
  if (format?.type === 'grammar') {
    return { type: 'grammar', grammar: format.grammar ?? '', param: 'response_format.grammar' };
  }
  if (format?.type === 'json_schema') {
    return {
      type: 'json-schema',
      schema: format.json_schema?.schema ?? {},
      strict: format.json_schema?.strict === true,
      param: 'response_format.json_schema.schema',
    };
  }
  return schema ? { type: 'json-schema', schema, param: 'response_schema' } : undefined;
}
