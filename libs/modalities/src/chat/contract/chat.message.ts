import { CheckedField, ChoiceField, NumberField, ObjectField, ObjectListField, TextField } from '#platform/http';
import { type NestedClass, nest } from '#platform/validation';
import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels } from '@nestjs/swagger';

/* Messages of the OpenAI format and their content parts. */

export class ChatCacheControl {
  @ChoiceField(['ephemeral'], { required: true, description: 'Type of the cache mark.', example: 'ephemeral' })
  type!: string;

  @TextField({
    description: 'How long to keep it: seconds, minutes or hours, up to `24h`. Default `5m`.',
    example: '5m',
  })
  ttl?: string;
}

class ChatContentPart {
  @ObjectField(ChatCacheControl, {
    description: 'Ends a part of the prompt to cache; tokens written for it are `cache_creation_input_tokens`.',
  })
  cache_control?: ChatCacheControl;
}

export class ChatTextPart extends ChatContentPart {
  @ChoiceField(['text'], { required: true, description: 'Type of the part.', example: 'text' })
  type!: 'text';

  @TextField({ required: true, minLength: 1, description: 'The text.', example: 'Tell me a story.' })
  text!: string;
}

export class ChatImageUrl {
  @TextField({ required: true, format: 'uri', description: 'An http(s) or data URL.' })
  url!: string;
}

export class ChatImagePart extends ChatContentPart {
  @ChoiceField(['image_url'], { required: true, description: 'Type of the part.' })
  type!: 'image_url';

  @ObjectField(ChatImageUrl, {
    required: true,
    description: 'The image. Models without `supportsVision` get what input adapters find in it.',
  })
  image_url!: ChatImageUrl;
}

export const chatAudioFormats = ['wav', 'mp3', 'aiff', 'aac', 'ogg', 'flac', 'm4a', 'pcm16', 'pcm24'] as const;

export class ChatInputAudio {
  @TextField({ required: true, description: 'The audio in base64; URLs are not accepted.' })
  data!: string;

  @ChoiceField(chatAudioFormats, { default: 'wav', description: 'Format of the audio.' })
  format?: string;
}

export class ChatAudioPart extends ChatContentPart {
  @ChoiceField(['input_audio'], { required: true, description: 'Type of the part.' })
  type!: 'input_audio';

  @ObjectField(ChatInputAudio, { required: true, description: 'The audio, for models with `supportsAudioInput`.' })
  input_audio!: ChatInputAudio;
}

export class ChatVideoUrl {
  @TextField({ required: true, format: 'uri', description: 'An http(s) or data URL of mp4, mpeg, mov or webm.' })
  url!: string;
}

export class ChatVideoPart extends ChatContentPart {
  @ChoiceField(['video_url'], { required: true, description: 'Type of the part.' })
  type!: 'video_url';

  @ObjectField(ChatVideoUrl, {
    required: true,
    description: 'The video. Models without `supportsVideoInput` get what input adapters find in it.',
  })
  video_url!: ChatVideoUrl;
}

export class ChatFile {
  @TextField({ required: true, description: 'A data URL, base64 or a public URL; at most 25 MB decoded.' })
  file_data!: string;

  @TextField({ description: 'Name of the file.', example: 'report.pdf' })
  filename?: string;
}

export class ChatFilePart extends ChatContentPart {
  @ChoiceField(['file'], { required: true, description: 'Type of the part.' })
  type!: 'file';

  @nest(({ file_id: id }) =>
    (id ?? null) === null ? ChatFile : { problem: 'is not supported; send file_data', at: 'file_id' },
  )
  @ObjectField(ChatFile, { required: true, description: 'The file; its text counts as input.' })
  file!: ChatFile;
}

export type ChatPart = ChatTextPart | ChatImagePart | ChatAudioPart | ChatVideoPart | ChatFilePart;

const partClasses: Record<string, new () => ChatPart> = {
  text: ChatTextPart,
  image_url: ChatImagePart,
  input_audio: ChatAudioPart,
  video_url: ChatVideoPart,
  file: ChatFilePart,
};

function partOf(allowed: string[]): NestedClass {
  const problem = `must be one of: ${allowed.join(', ')}`;
  return ({ type }) => {
    const known = typeof type === 'string' && allowed.includes(type) ? partClasses[type] : undefined;
    return known ?? { problem, at: 'type' };
  };
}

interface ContentOptions {
  parts: string[];
  nullable?: boolean;
  required: boolean;
}

/** A string, or parts of the given types. */
function ContentField({ parts, nullable = false, required }: ContentOptions): PropertyDecorator {
  const models = parts.flatMap((kind) => partClasses[kind] ?? []);
  const references = models.map((model) => ({ $ref: `#/components/schemas/${model.name}` }));
  const items = references.length === 1 ? references[0] : { oneOf: references };
  const variants: object[] = [{ type: 'string' }, { type: 'array', items }];
  return applyDecorators(
    CheckedField({
      name: 'isContent',
      description: parts.length === 1 ? 'Text, or text parts.' : 'Text, or parts of any type.',
      required,
      nullable: nullable ? true : undefined,
      example: 'Tell me a story about a small boat.',
      schema: { anyOf: variants },
      check: (value) => {
        if (typeof value === 'string') return null;
        if (!Array.isArray(value)) return 'must be a string or an array of content parts';
        return value.length === 0 ? 'must hold at least one content part' : null;
      },
    }),
    nest(partOf(parts)),
    (target: object) => ApiExtraModels(...models)(target.constructor),
  );
}

class NamedMessage {
  @TextField({ nullable: true, description: 'Name of the participant.', example: 'ada' })
  name?: string | null;
}

export class ChatUserMessage extends NamedMessage {
  @ChoiceField(['user'], { required: true, description: 'Who speaks.', example: 'user' })
  role!: 'user';

  @ContentField({ parts: ['text', 'image_url', 'input_audio', 'video_url', 'file'], required: true })
  content!: string | ChatPart[];
}

export class ChatSystemMessage extends NamedMessage {
  @ChoiceField(['system'], { required: true, description: 'Who speaks.', example: 'system' })
  role!: 'system';

  @ContentField({ parts: ['text'], required: true })
  content!: string | ChatTextPart[];
}

export class ChatDeveloperMessage extends NamedMessage {
  @ChoiceField(['developer'], { required: true, description: 'Author of the message; equivalent to `system`.' })
  role!: 'developer';

  @ContentField({ parts: ['text'], required: true })
  content!: string | ChatTextPart[];
}

export class ChatReasoningDetail {
  @TextField({ required: true, description: 'Type of the detail.' })
  type!: string;

  @TextField({ description: 'Id of the detail.' })
  id?: string;

  @TextField({ description: 'Format of the detail.' })
  format?: string;

  @TextField({ description: 'Reasoning text, or a piece of it: those of one index are joined.' })
  text?: string;

  @TextField({ description: 'Encrypted reasoning.' })
  data?: string;

  @NumberField({ description: 'Index of the detail.' })
  index?: number;
}

const anyItems = { type: 'array', items: { nullable: true } };

function listOrNothing(value: unknown): string | null {
  return Array.isArray(value) ? null : 'must be an array';
}

class SpokenMessage extends NamedMessage {
  @TextField({ nullable: true, description: 'Reasoning of an earlier response, echoed.' })
  reasoning_content?: string | null;

  @TextField({ nullable: true, description: 'Another name of `reasoning_content`, which takes precedence.' })
  reasoning?: string | null;

  @CheckedField({
    name: 'isToolCalls',
    nullable: true,
    description: 'Tool calls of an earlier response, echoed.',
    schema: anyItems,
    check: listOrNothing,
  })
  tool_calls?: unknown[] | null;
}

export class ChatAssistantMessage extends SpokenMessage {
  @ChoiceField(['assistant'], { required: true, description: 'Who speaks.', example: 'assistant' })
  role!: 'assistant';

  @ContentField({ parts: ['text'], nullable: true, required: false })
  content?: string | ChatTextPart[] | null;

  @ObjectListField(() => ChatReasoningDetail, [ChatReasoningDetail], {
    description: 'Reasoning of an earlier response, echoed; used without `reasoning_content`.',
  })
  reasoning_details?: ChatReasoningDetail[];

  @TextField({ nullable: true, description: 'Accepted without effect: local models sign no reasoning.' })
  thought_signature?: string | null;
}

export class ChatToolMessage extends SpokenMessage {
  @ChoiceField(['tool'], { required: true, description: 'Who speaks.', example: 'tool' })
  role!: 'tool';

  @ContentField({ parts: ['text'], required: true })
  content!: string | ChatTextPart[];

  @TextField({ required: true, description: 'Id of the tool call this is the result of.', example: 'call_1' })
  tool_call_id!: string;
}

/** The deprecated form of a tool message, which belongs to the last `function_call` of its name. */
export class ChatFunctionMessage {
  @ChoiceField(['function'], { required: true, description: 'Who speaks.' })
  role!: 'function';

  @TextField({ required: true, minLength: 1, description: 'Name of the function this is the result of.' })
  name!: string;

  @ContentField({ parts: ['text'], nullable: true, required: false })
  content?: string | ChatTextPart[] | null;
}

export type ChatMessage =
  | ChatUserMessage
  | ChatAssistantMessage
  | ChatToolMessage
  | ChatSystemMessage
  | ChatDeveloperMessage
  | ChatFunctionMessage;

const messageClasses: Record<ChatMessage['role'], new () => ChatMessage> = {
  user: ChatUserMessage,
  assistant: ChatAssistantMessage,
  tool: ChatToolMessage,
  system: ChatSystemMessage,
  developer: ChatDeveloperMessage,
  function: ChatFunctionMessage,
};

/** The classes that the API document shows: all but the deprecated one. */
export const chatMessageClasses = Object.values(messageClasses).filter((known) => known !== ChatFunctionMessage);

/** The class of a message, by its role. */
export const chatMessageOf: NestedClass = ({ role }) => {
  const known = typeof role === 'string' && Object.hasOwn(messageClasses, role);
  if (known) return messageClasses[role as ChatMessage['role']];
  return { problem: `must be one of: ${Object.keys(messageClasses).join(', ')}`, at: 'role' };
};
