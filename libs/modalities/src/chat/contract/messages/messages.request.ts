import { isObject } from '#common/values';
import {
  BooleanField,
  CheckedField,
  ChoiceField,
  FreeObjectField,
  IntegerField,
  NumberField,
  ObjectField,
  ObjectListField,
  ScalarListField,
  TextField,
} from '#platform/http';
import {
  assistantBlocks,
  CacheControlField,
  classOf,
  ContentField,
  type MessagesAssistantBlock,
  type MessagesCacheControl,
  type MessagesTextBlock,
  type MessagesUserBlock,
  systemBlocks,
  userBlocks,
} from './messages.blocks.js';
import { MessagesTool, MessagesToolChoice, messagesToolOf } from './messages.tools.js';

/* Bodies of `POST /messages`. They are checked once more as the chat requests that they are translated to. */

export class MessagesUserMessage {
  @ChoiceField(['user'], { required: true, description: 'Who speaks.', example: 'user' }) role!: 'user';
  @ContentField(userBlocks, { description: 'Text, or blocks.' }) content!: string | MessagesUserBlock[];
}

export class MessagesAssistantMessage {
  @ChoiceField(['assistant'], { required: true, description: 'Who speaks.', example: 'assistant' })
  role!: 'assistant';

  @ContentField(assistantBlocks, { mayBeEmpty: true, description: 'Text, or the blocks of an earlier response.' })
  content!: string | MessagesAssistantBlock[];
}

export class MessagesSystemMessage {
  @ChoiceField(['system'], { required: true, description: 'Who speaks.', example: 'system' }) role!: 'system';
  @ContentField(systemBlocks, { description: 'Text, or text blocks.' }) content!: string | MessagesTextBlock[];
}

export type MessagesMessage = MessagesUserMessage | MessagesAssistantMessage | MessagesSystemMessage;

const messageClasses: Readonly<Record<MessagesMessage['role'], new () => MessagesMessage>> = {
  user: MessagesUserMessage,
  assistant: MessagesAssistantMessage,
  system: MessagesSystemMessage,
};

/** The class of a message, by its role. */
const messageOf = classOf(messageClasses, 'role');

export class MessagesThinking {
  @ChoiceField(['enabled', 'disabled', 'adaptive'], {
    required: true,
    description: '`adaptive`: as the model does by default. Without the field, reasoning is off.',
    example: 'adaptive',
  })
  type!: 'enabled' | 'disabled' | 'adaptive';

  @IntegerField({ minimum: 1, description: 'Of `enabled`: maximum number of tokens of reasoning.', example: 1024 })
  budget_tokens?: number | null;

  @ChoiceField(['summarized', 'omitted'], {
    description: '`summarized` returns the reasoning in full, `omitted` only in the signature, encrypted.',
  })
  display?: 'summarized' | 'omitted' | null;
}

export class MessagesOutputFormat {
  @ChoiceField(['json_schema'], { required: true, description: 'Type of the format.' }) type!: 'json_schema';
  @FreeObjectField({ required: true, description: 'JSON schema that the text follows exactly.' }) schema!: object;
}

const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

export class MessagesOutputConfig {
  @ChoiceField(efforts, {
    description: 'How much to reason, where reasoning is on; lowered to what the model has, with a warning.',
  })
  effort?: string | null;

  @ObjectField(MessagesOutputFormat, { description: 'Format of the text, enforced token by token.' })
  format?: MessagesOutputFormat | null;
}

export class MessagesMetadata {
  @TextField({ nullable: true, description: 'Accepted without effect.' }) user_id?: string | null;
}

/** Returns the problem of the edits of a context: only those that keep everything are possible. */
function contextProblem(value: unknown): string | null {
  const edits = isObject(value) ? (value.edits ?? []) : null;
  const keepsAll = (edit: unknown): boolean =>
    isObject(edit) && edit.type === 'clear_thinking_20251015' && edit.keep === 'all';
  if (Array.isArray(edits) && edits.every(keepsAll)) return null;
  return 'must hold no edits but {"type": "clear_thinking_20251015", "keep": "all"}: the context is not edited here';
}

/** Body of `POST /messages/count_tokens`. */
export class MessagesCountRequest {
  @TextField({
    required: true,
    minLength: 1,
    maxLength: 1024,
    description:
      'A model id, a trait (`default`), an alias, or a name such as `claude-…` that means the default model.',
    example: 'stories-15m',
  })
  model!: string;

  @ObjectListField(messageOf, Object.values(messageClasses), {
    required: true,
    minItems: 1,
    maxItems: 10_000,
    description: 'The conversation, oldest first. The last message is not one of the assistant.',
    example: [{ role: 'user', content: 'Tell me a story about a small boat.' }],
  })
  messages!: MessagesMessage[];

  @ContentField(systemBlocks, { required: false, mayBeEmpty: true, description: 'The system prompt.' })
  system?: string | MessagesTextBlock[] | null;

  @ObjectListField(messagesToolOf, [MessagesTool], { maxItems: 128, description: 'Tools that the client runs.' })
  tools?: MessagesTool[] | null;

  @ObjectField(MessagesToolChoice, { description: 'Whether the model must, may or may not use tools.' })
  tool_choice?: MessagesToolChoice | null;

  @ObjectField(MessagesThinking, { description: 'Reasoning; needs a model that reasons, else there is a warning.' })
  thinking?: MessagesThinking | null;

  @ObjectField(MessagesOutputConfig, { description: 'Options of the output.' })
  output_config?: MessagesOutputConfig | null;

  @ObjectField(MessagesOutputFormat, { description: 'Older name of `output_config.format`.' })
  output_format?: MessagesOutputFormat | null;

  @CacheControlField('Marks the end of the conversation, as a mark in its last block does.')
  cache_control?: MessagesCacheControl | null;

  @CheckedField({
    name: 'isContextManagement',
    description: 'Edits of the context; only those that keep everything.',
    schema: { type: 'object', properties: { edits: { type: 'array', items: { type: 'object' } } } },
    check: contextProblem,
  })
  context_management?: object | null;

  @ChoiceField(['standard'], { description: 'Accepted without effect: there is one speed.' }) speed?: string | null;
}

/** Body of `POST /messages`. Other fields are refused. */
export class MessagesRequest extends MessagesCountRequest {
  @IntegerField({
    required: true,
    minimum: 1,
    description: 'Maximum number of tokens, reasoning included; lowered to what the model has, with a warning.',
    example: 256,
  })
  max_tokens!: number;

  @BooleanField({ description: 'Respond with server-sent events.', example: false }) stream?: boolean | null;

  @NumberField({ minimum: 0, maximum: 1, description: '0 always takes the most likely token.', example: 0.7 })
  temperature?: number | null;

  @NumberField({
    minimum: 0,
    maximum: 1,
    description: 'Keep the most likely tokens up to this cumulative probability.',
    example: 0.9,
  })
  top_p?: number | null;

  @IntegerField({ minimum: 0, description: 'Keep this many of the most likely tokens; 0 keeps all.', example: 40 })
  top_k?: number | null;

  @ScalarListField('string', {
    maxItems: 4,
    description: 'Up to 4 texts that end the response and are not part of it.',
    example: ['\n\nUser:'],
  })
  stop_sequences?: string[] | null;

  @ObjectField(MessagesMetadata, { description: 'Who asks.' }) metadata?: MessagesMetadata | null;

  @ChoiceField(['auto', 'standard_only'], { description: 'Accepted without effect: there is one tier.' })
  service_tier?: string | null;
}
