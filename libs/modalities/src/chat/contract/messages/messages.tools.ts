import { BooleanField, CheckedField, ChoiceField, FreeObjectField, TextField } from '#platform/http';
import type { NestedClass } from '#platform/validation';
import { CacheControlField, type MessagesCacheControl } from './messages.blocks.js';

/* Tools of the Messages API. */

/** A tool that the client runs. */
export class MessagesTool {
  @ChoiceField(['custom'], { description: 'Type of the tool: the client runs it.', example: 'custom' })
  type?: 'custom' | null;

  @TextField({ required: true, description: 'Name of the tool.', example: 'get_weather' }) name!: string;
  @TextField({ description: 'What the tool does.' }) description?: string | null;
  @FreeObjectField({ required: true, description: 'JSON schema of the arguments, an object.' }) input_schema!: object;

  @BooleanField({
    default: false,
    description: 'Refuse keywords of the schema that cannot be followed; otherwise they are left out.',
  })
  strict?: boolean | null;

  @BooleanField({ description: 'Accepted without effect: arguments are always streamed as they are generated.' })
  eager_input_streaming?: boolean | null;

  @CheckedField({
    name: 'isNotDeferred',
    description: 'Only false: the model sees all tools.',
    schema: { type: 'boolean', enum: [false] },
    check: (value) => (value === false ? null : 'must be false: the model sees all tools'),
  })
  defer_loading?: boolean | null;

  @CheckedField({
    name: 'isDirectOnly',
    description: 'Only `["direct"]`: no code runs here.',
    schema: { type: 'array', items: { type: 'string', enum: ['direct'] } },
    check: (value) =>
      Array.isArray(value) && value.every((caller) => caller === 'direct')
        ? null
        : 'must hold only: direct; no code runs here',
  })
  allowed_callers?: string[] | null;

  @CacheControlField('Ends a part of the prompt to cache: that with the tools and the system prompt.')
  cache_control?: MessagesCacheControl | null;
}

/** The class of a tool. Those of other types run at a service, or have a schema that only their model knows. */
export const messagesToolOf: NestedClass = ({ type }) =>
  (type ?? 'custom') === 'custom'
    ? MessagesTool
    : { problem: 'must be custom: tools of other types are not offered here', at: 'type' };

export class MessagesToolChoice {
  @ChoiceField(['auto', 'any', 'tool', 'none'], {
    required: true,
    description: '`auto`: the model decides; `any`: one of the tools; `tool`: the named one; `none`: no tool.',
    example: 'auto',
  })
  type!: 'auto' | 'any' | 'tool' | 'none';

  @TextField({ description: 'Of `tool`: its name.', example: 'get_weather' }) name?: string | null;
  @BooleanField({ default: false, description: 'At most one call.' }) disable_parallel_tool_use?: boolean | null;
}
