import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels } from '@nestjs/swagger';
import { isObject } from '#common/values';
import { BooleanField, CheckedField, ChoiceField, FreeObjectField, ObjectField, TextField } from '#platform/http';
import { type NestedClass, nest } from '#platform/validation';

/* Content blocks of the Messages API. */

export class MessagesCacheControl {
  @ChoiceField(['ephemeral'], { required: true, description: 'Type of the cache mark.', example: 'ephemeral' })
  type!: 'ephemeral';

  @ChoiceField(['5m', '1h'], { default: '5m', description: 'How long to keep the prompt.' }) ttl?: string | null;
  @TextField({ description: 'Accepted without effect: accounts share no caches.' }) scope?: string | null;
}

/** The mark at the end of a part of the prompt to cache. */
export function CacheControlField(description: string): PropertyDecorator {
  return ObjectField(MessagesCacheControl, { description });
}

const markedBlock = 'Ends a part of the prompt to cache. Prompts are also cached without it.';

function BlockTypeField(type: string): PropertyDecorator {
  return ChoiceField([type], { required: true, description: 'Type of the block.', example: type });
}

type BlockClass = new () => object;
type BlockClasses = Readonly<Record<string, BlockClass>>;

/** One of several classes, by the member that names it. */
export function classOf(classes: BlockClasses, member: 'type' | 'role' = 'type'): NestedClass {
  return ({ [member]: name }) => {
    const known = typeof name === 'string' && Object.hasOwn(classes, name) ? classes[name] : undefined;
    return known ?? { problem: `must be one of: ${Object.keys(classes).join(', ')}`, at: member };
  };
}

function referencesOf(classes: BlockClasses): object[] {
  return Object.values(classes).map(({ name }) => ({ $ref: `#/components/schemas/${name}` }));
}

/** An object of one of several classes. */
function SourceField(classes: BlockClasses, description: string): PropertyDecorator {
  return applyDecorators(
    CheckedField({
      name: 'isSource',
      required: true,
      description,
      schema: { anyOf: referencesOf(classes) },
      check: (value) => (typeof value === 'object' && !Array.isArray(value) ? null : 'must be an object'),
    }),
    nest(classOf(classes)),
    (target: object) => ApiExtraModels(...Object.values(classes))(target.constructor),
  );
}

interface ContentOptions {
  description: string;
  /** Default: true. */
  required?: boolean;
  /** Allows an empty list. Default: false. */
  mayBeEmpty?: boolean;
}

/** A text, or blocks of the given classes by their type. */
export function ContentField(
  classes: BlockClasses,
  { description, required = true, mayBeEmpty = false }: ContentOptions,
): PropertyDecorator {
  const references = referencesOf(classes);
  const items = references.length === 1 ? references[0] : { anyOf: references };
  return applyDecorators(
    CheckedField({
      name: 'isContent',
      required,
      description,
      example: 'Tell me a story about a small boat.',
      schema: { anyOf: [{ type: 'string' }, { type: 'array', items }] },
      check: (value) => {
        if (typeof value === 'string') return null;
        if (!Array.isArray(value)) return 'must be a string or an array of content blocks';
        return value.length === 0 && !mayBeEmpty ? 'must hold at least one content block' : null;
      },
    }),
    nest(classOf(classes)),
    (target: object) => ApiExtraModels(...Object.values(classes))(target.constructor),
  );
}

export class MessagesTextBlock {
  @BlockTypeField('text') type!: 'text';
  @TextField({ required: true, description: 'The text.', example: 'Tell me a story.' }) text!: string;

  @CheckedField({
    name: 'isCitations',
    nullable: true,
    description: 'Citations of an earlier response. Accepted without effect.',
    schema: { type: 'array', items: { nullable: true } },
    check: (value) => (Array.isArray(value) ? null : 'must be an array'),
  })
  citations?: unknown[] | null;

  @CacheControlField(markedBlock) cache_control?: MessagesCacheControl | null;
}

export class MessagesBase64Source {
  @ChoiceField(['base64'], { required: true, description: 'Type of the source.' }) type!: 'base64';
  @TextField({ required: true, description: 'Media type of the data.', example: 'image/png' }) media_type!: string;
  @TextField({ required: true, description: 'The bytes in base64.' }) data!: string;
}

export class MessagesUrlSource {
  @ChoiceField(['url'], { required: true, description: 'Type of the source.' }) type!: 'url';
  @TextField({ required: true, format: 'uri', description: 'A public URL.' }) url!: string;
}

export class MessagesImageBlock {
  @BlockTypeField('image') type!: 'image';

  @SourceField({ base64: MessagesBase64Source, url: MessagesUrlSource }, 'The image, for models with `supportsVision`.')
  source!: MessagesBase64Source | MessagesUrlSource;

  @CacheControlField(markedBlock) cache_control?: MessagesCacheControl | null;
}

export class MessagesPlainSource {
  @ChoiceField(['text'], { required: true, description: 'Type of the source.' }) type!: 'text';
  @ChoiceField(['text/plain'], { required: true, description: 'Media type of the data.' }) media_type!: 'text/plain';
  @TextField({ required: true, description: 'The text.' }) data!: string;
}

export type MessagesInnerBlock = MessagesTextBlock | MessagesImageBlock;

/** A document that is given as blocks. */
export class MessagesContentSource {
  @ChoiceField(['content'], { required: true, description: 'Type of the source.' }) type!: 'content';

  @ContentField({ text: MessagesTextBlock, image: MessagesImageBlock }, { description: 'Text, or text and images.' })
  content!: string | MessagesInnerBlock[];
}

export class MessagesCitationsOption {
  @CheckedField({
    name: 'isOff',
    description: 'Refused: nothing here cites documents.',
    schema: { type: 'boolean', enum: [false] },
    check: (value) => (value === false ? null : 'must be false: nothing here cites documents'),
  })
  enabled?: boolean | null;
}

export class MessagesDocumentBlock {
  @BlockTypeField('document') type!: 'document';

  @SourceField(
    {
      base64: MessagesBase64Source,
      text: MessagesPlainSource,
      content: MessagesContentSource,
      url: MessagesUrlSource,
    },
    'The document; its text counts as input.',
  )
  source!: MessagesBase64Source | MessagesPlainSource | MessagesContentSource | MessagesUrlSource;

  @TextField({ nullable: true, description: 'Name of the document.', example: 'report.pdf' }) title?: string | null;
  @TextField({ nullable: true, description: 'What the document is, as text before it.' }) context?: string | null;
  @ObjectField(MessagesCitationsOption, { description: 'Only off.' }) citations?: MessagesCitationsOption | null;
  @CacheControlField(markedBlock) cache_control?: MessagesCacheControl | null;
}

/** Reasoning of an earlier response. */
export class MessagesThinkingBlock {
  @BlockTypeField('thinking') type!: 'thinking';
  @TextField({ required: true, description: 'The reasoning; empty where it was omitted.' }) thinking!: string;

  @TextField({
    nullable: true,
    description: 'The reasoning, encrypted for the account. Read if the text is empty, and not compared with it.',
  })
  signature?: string | null;
}

const direct = { type: 'object', properties: { type: { type: 'string', enum: ['direct'] } } };

/** Returns true for the only caller that a tool may have: the model, as no code runs here. */
function isDirect(value: unknown): boolean {
  return isObject(value) && value.type === 'direct';
}

export class MessagesToolUseBlock {
  @BlockTypeField('tool_use') type!: 'tool_use';
  @TextField({ required: true, minLength: 1, description: 'Id of the call.', example: 'call_1' }) id!: string;
  @TextField({ required: true, minLength: 1, description: 'Name of the tool.', example: 'get_weather' }) name!: string;
  @FreeObjectField({ required: true, description: 'The arguments.' }) input!: object;

  @CheckedField({
    name: 'isCaller',
    description: 'Only `{"type": "direct"}`.',
    schema: direct,
    check: (value) => (isDirect(value) ? null : 'must be {"type": "direct"}: no code runs here'),
  })
  caller?: object | null;

  @CacheControlField(markedBlock) cache_control?: MessagesCacheControl | null;
}

export type MessagesResultBlock = MessagesInnerBlock | MessagesDocumentBlock;

export class MessagesToolResultBlock {
  @BlockTypeField('tool_result') type!: 'tool_result';
  @TextField({ required: true, description: 'Id of the call this is the result of.', example: 'call_1' })
  tool_use_id!: string;

  @ContentField(
    { text: MessagesTextBlock, image: MessagesImageBlock, document: MessagesDocumentBlock },
    { required: false, mayBeEmpty: true, description: 'The result; images and documents follow the results as input.' },
  )
  content?: string | MessagesResultBlock[] | null;

  @BooleanField({ default: false, description: 'The tool failed: the model sees `Error: ` before the text.' })
  is_error?: boolean | null;

  @CacheControlField(markedBlock) cache_control?: MessagesCacheControl | null;
}

export type MessagesUserBlock = MessagesResultBlock | MessagesToolResultBlock;
export type MessagesAssistantBlock = MessagesTextBlock | MessagesThinkingBlock | MessagesToolUseBlock;

export const userBlocks = {
  text: MessagesTextBlock,
  image: MessagesImageBlock,
  document: MessagesDocumentBlock,
  tool_result: MessagesToolResultBlock,
};

export const assistantBlocks = {
  text: MessagesTextBlock,
  thinking: MessagesThinkingBlock,
  tool_use: MessagesToolUseBlock,
};

export const systemBlocks = { text: MessagesTextBlock };
