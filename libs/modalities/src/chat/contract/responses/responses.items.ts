import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels } from '@nestjs/swagger';
import { isObject } from '#common/values';
import { CheckedField, ChoiceField, TextField } from '#platform/http';
import { type NestedClass, nest } from '#platform/validation';
import { ChatAudioPart, ChatFilePart, ChatTextPart, ChatVideoPart } from '../chat.message.js';
import { CallIdField, IdField, NameField, NamespaceField, StatusField, TypeField } from './request-fields.js';

/*
 * Input items of the Responses format and their content parts, as the public OpenAI reference and the Open
 * Responses specification (https://www.openresponses.org/specification) describe them.
 */

const imageDetails = ['auto', 'low', 'high', 'original'] as const;

const anyItems = { type: 'array', items: { nullable: true } };

function listProblem(value: unknown): string | null {
  return Array.isArray(value) ? null : 'must be an array';
}

export class ResponsesInputText {
  @TypeField('input_text', 'part', 'input_text') type!: 'input_text';
  @TextField({ required: true, description: 'The text.', example: 'Tell me a story.' }) text!: string;
}

export class ResponsesOutputText {
  @TypeField('output_text', 'part') type!: 'output_text';
  @TextField({ required: true, description: 'Text of an earlier response.' }) text!: string;

  @CheckedField({
    name: 'isAnnotations',
    description: 'Annotations of an earlier response, echoed.',
    schema: anyItems,
    check: listProblem,
  })
  annotations?: unknown[];
}

export class ResponsesRefusal {
  @TypeField('refusal', 'part') type!: 'refusal';
  @TextField({ required: true, description: 'Refusal of an earlier response.' }) refusal!: string;
}

function imageProblem(value: unknown): string | null {
  const wording = 'must be a URL, or an object with a url';
  if (typeof value === 'string') return null;
  if (!isObject(value) || typeof value.url !== 'string') return wording;
  const { detail = null } = value;
  const isKnown = detail === null || imageDetails.some((known) => known === detail);
  return isKnown ? null : `must have a detail of ${imageDetails.join(', ')}`;
}

class ResponsesImage {
  @CheckedField({
    name: 'isImageUrl',
    required: true,
    description: 'An http(s) or data URL, for models with `supportsVision`.',
    schema: {
      anyOf: [
        { type: 'string' },
        {
          type: 'object',
          properties: { url: { type: 'string' }, detail: { type: 'string', enum: ['auto', 'low', 'high'] } },
          required: ['url'],
        },
      ],
    },
    check: imageProblem,
  })
  image_url!: string | { url: string; detail?: string | null };

  @ChoiceField(imageDetails, { description: 'Accepted without effect: the model sets the resolution.' })
  detail?: string;
}

export class ResponsesInputImage extends ResponsesImage {
  @TypeField('input_image', 'part') type!: 'input_image';
}

/** The same under the name of chat completions, with or without the object around its URL. */
export class ResponsesImageUrl extends ResponsesImage {
  @TypeField('image_url', 'part') type!: 'image_url';
}

export class ResponsesInputFile {
  @TypeField('input_file', 'part') type!: 'input_file';

  @TextField({ description: 'A data URL; at most 25 MB decoded. One of `file_data` and `file_url` is required.' })
  file_data?: string;

  @TextField({ description: 'A public URL.' }) file_url?: string;
  @TextField({ description: 'Name of the file.', example: 'report.pdf' }) filename?: string;
}

const partClasses = {
  input_text: ResponsesInputText,
  input_image: ResponsesInputImage,
  input_file: ResponsesInputFile,
  input_audio: ChatAudioPart,
  output_text: ResponsesOutputText,
  refusal: ResponsesRefusal,
  // Parts of chat completions, which some clients send here too.
  text: ChatTextPart,
  image_url: ResponsesImageUrl,
  video_url: ChatVideoPart,
  file: ChatFilePart,
};

export type ResponsesPart = InstanceType<(typeof partClasses)[keyof typeof partClasses]>;

const partOf: NestedClass = (part) => {
  const { type, file_id: fileId = null } = part;
  if (fileId !== null) return { problem: 'is not supported: no files are kept here; send the data', at: 'file_id' };
  const isKnown = typeof type === 'string' && Object.hasOwn(partClasses, type);
  if (isKnown) return partClasses[type as keyof typeof partClasses];
  return { problem: `must be one of: ${Object.keys(partClasses).join(', ')}`, at: 'type' };
};

function ContentField(): PropertyDecorator {
  const models = Object.values(partClasses);
  const items = { anyOf: models.map((model) => ({ $ref: `#/components/schemas/${model.name}` })) };
  return applyDecorators(
    CheckedField({
      name: 'isContent',
      description: 'Text, or content parts. Only messages of users hold other parts than text.',
      required: true,
      example: 'Tell me a story about a small boat.',
      schema: { anyOf: [{ type: 'string' }, { type: 'array', items }] },
      check: (value) =>
        typeof value === 'string' || Array.isArray(value) ? null : 'must be a string or an array of content parts',
    }),
    nest(partOf),
    (target: object) => ApiExtraModels(...models)(target.constructor),
  );
}

const roles = ['user', 'assistant', 'system', 'developer'] as const;

class ResponsesMessageBase {
  @ChoiceField(roles, { required: true, description: 'Author of the message; `developer` is equivalent to `system`.' })
  role!: (typeof roles)[number];

  @ContentField() content!: string | ResponsesPart[];
  @IdField() id?: string;
  @StatusField() status?: string;
}

export class ResponsesMessageItem extends ResponsesMessageBase {
  @TypeField('message', 'item', 'message') type!: 'message';
}

/** A message without its type, as in chat completions. */
export class ResponsesPlainMessageItem extends ResponsesMessageBase {
  declare type?: undefined;
}

function reasoningTextsProblem(value: unknown): string | null {
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return 'must be a string or an array';
  const isText = (part: unknown) => typeof part === 'string' || (isObject(part) && typeof part.text === 'string');
  return value.every(isText) ? null : 'must hold strings, or parts with a text';
}

/** A summary or content of reasoning: the specification has parts, some clients send strings. */
export type ReasoningTexts = string | (string | { type?: string; text: string })[];

export class ResponsesReasoningItem {
  @TypeField('reasoning', 'item') type!: 'reasoning';
  @IdField({ nullable: true }) id?: string | null;

  @CheckedField({
    name: 'isReasoningSummary',
    nullable: true,
    description: 'Summary of the reasoning, as it was received.',
    schema: {
      type: 'array',
      items: {
        anyOf: [{ type: 'string' }, { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }],
      },
    },
    check: (value) => (Array.isArray(value) ? reasoningTextsProblem(value) : 'must be an array'),
  })
  summary?: ReasoningTexts | null;

  @CheckedField({
    name: 'isReasoningContent',
    nullable: true,
    description: 'Text of the reasoning, as it was received. It takes precedence over the two others.',
    schema: { anyOf: [{ type: 'string' }, anyItems] },
    check: reasoningTextsProblem,
  })
  content?: ReasoningTexts | null;

  @TextField({ nullable: true, description: 'The reasoning, encrypted by this service for this account.' })
  encrypted_content?: string | null;

  @StatusField({ nullable: true }) status?: string | null;
}

export class ResponsesFunctionCallItem {
  @TypeField('function_call', 'item') type!: 'function_call';
  @IdField() id?: string;
  @CallIdField('Id of the call.') call_id!: string;
  @NameField('function', 'get_weather') name!: string;
  @NamespaceField('function') namespace?: string | null;
  @TextField({ required: true, description: 'Its arguments as JSON.', example: '{"city":"Paris"}' }) arguments!: string;
  @StatusField() status?: string;
}

class CallOutput {
  @IdField() id?: string;
  @CallIdField('Id of the call this is the result of.') call_id!: string;

  @CheckedField({
    name: 'isCallOutput',
    nullable: true,
    description: 'Result of the tool: text, content parts, or any other JSON.',
    example: '{"temperature":21}',
    schema: {
      // Null is a result too, so only the document says that the member is required; `responsesItemOf` checks it.
      required: true,
      anyOf: [
        { type: 'string' },
        anyItems,
        { type: 'object', additionalProperties: { nullable: true } },
        { type: 'number' },
        { type: 'boolean' },
      ],
    },
    check: () => null,
  })
  output!: unknown;

  @StatusField() status?: string;
}

export class ResponsesFunctionCallOutputItem extends CallOutput {
  @TypeField('function_call_output', 'item') type!: 'function_call_output';
}

export class ResponsesCustomToolCallItem {
  @TypeField('custom_tool_call', 'item') type!: 'custom_tool_call';
  @IdField() id?: string;
  @CallIdField('Id of the call.') call_id!: string;
  @NameField('tool', 'apply_patch') name!: string;
  @NamespaceField('tool') namespace?: string | null;
  @TextField({ required: true, description: 'Its input.' }) input!: string;
  @StatusField() status?: string;
}

export class ResponsesCustomToolCallOutputItem extends CallOutput {
  @TypeField('custom_tool_call_output', 'item') type!: 'custom_tool_call_output';
}

const webCallStatuses = ['completed', 'failed', 'in_progress', 'incomplete', 'searching'] as const;

export class ResponsesWebSearchCallItem {
  @TypeField('web_search_call', 'item') type!: 'web_search_call';
  @IdField() id?: string;
  @StatusField({ values: webCallStatuses }) status?: string;

  @CheckedField({
    name: 'isWebAction',
    nullable: true,
    description: 'What was looked up, echoed.',
    schema: { type: 'object', additionalProperties: { nullable: true } },
    check: (value) => (isObject(value) ? null : 'must be an object'),
  })
  action?: Record<string, unknown> | null;
}

export class ResponsesItemReference {
  @TypeField('item_reference', 'item') type!: 'item_reference';
  @TextField({ required: true, description: 'Id of an item that a stored response wrote.' }) id!: string;
}

/** A reference without its type. */
export class ResponsesPlainReference {
  declare type?: undefined;

  @TextField({ required: true, description: 'Id of an item that a stored response wrote.' }) id!: string;
}

const itemClasses = {
  message: ResponsesMessageItem,
  reasoning: ResponsesReasoningItem,
  function_call: ResponsesFunctionCallItem,
  function_call_output: ResponsesFunctionCallOutputItem,
  custom_tool_call: ResponsesCustomToolCallItem,
  custom_tool_call_output: ResponsesCustomToolCallOutputItem,
  web_search_call: ResponsesWebSearchCallItem,
  item_reference: ResponsesItemReference,
};

export type ResponsesItem =
  ResponsesPlainMessageItem | ResponsesPlainReference | InstanceType<(typeof itemClasses)[keyof typeof itemClasses]>;

export const responsesItemClasses = [...Object.values(itemClasses), ResponsesPlainMessageItem];

/** The class of an item, by its type; without one it is a message. */
export const responsesItemOf: NestedClass = ({ type = null, id, role, output }) => {
  // Some clients leave the type of a reference out too.
  if (type === null && role === undefined && typeof id === 'string') return ResponsesPlainReference;
  if (type === null) return ResponsesPlainMessageItem;
  const isOutput = type === 'function_call_output' || type === 'custom_tool_call_output';
  if (isOutput && output === undefined) return { problem: 'is required', at: 'output' };
  const isKnown = typeof type === 'string' && Object.hasOwn(itemClasses, type);
  if (isKnown) return itemClasses[type as keyof typeof itemClasses];
  return { problem: `must be one of: ${Object.keys(itemClasses).join(', ')}`, at: 'type' };
};
