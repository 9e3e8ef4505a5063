import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  ValidateBy,
  ValidateNested,
} from '#platform/validation';
import { defineJob } from '#queue';
import { type LogitBias, logitBiasProblem } from './logit-bias.js';

/** Maximum number of pixels of an image, and of all images of a request as the model gets them. */
export const maxImagePixels = 33_177_600;

/** An image of a message. */
export class ChatJobImage {
  /** Where it lies in the storage, until the request ends. */
  @IsString() artifactId!: string;

  /** UTF-16 units of the message's content before the image. */
  @IsInt() @Min(0) position!: number;

  /** Part of the caller's request, for refusals. */
  @IsString() param!: string;

  /** Whether it is a frame of a video, which takes fewer tokens; absent in jobs of an older api. Optional for good. */
  @IsOptional() @IsBoolean() isFrame?: boolean;
}

/** A call of a tool in an earlier response. */
export class ChatJobToolCall {
  @IsString() id!: string;
  @IsString() name!: string;
  /** A JSON object as text. */
  @IsString() arguments!: string;
}

/** The texts that the one argument of a tool may be. */
export class ChatJobTextFormat {
  /** Name of the argument. */
  @IsString() argument!: string;
  @IsIn(['regex', 'lark']) syntax!: 'regex' | 'lark';
  @IsString() definition!: string;
}

/** A function that the model may call. */
export class ChatJobTool {
  @IsString() name!: string;
  @IsOptional() @IsString() description?: string;
  /** JSON Schema of the arguments. */
  @IsObject() parameters!: object;
  /** Whether keywords of the schema that no grammar follows are refused; otherwise they are left out. */
  @IsBoolean() strict!: boolean;
  /** Field of the caller's request that holds the schema or the format, for refusals. */
  @IsOptional() @IsString() param?: string;
  /** Absent: the argument follows the schema alone. Optional for good. */
  @IsOptional() @ValidateNested() @Type(() => ChatJobTextFormat) textFormat?: ChatJobTextFormat;
}

function IsToolChoice(): PropertyDecorator {
  const names = ['auto', 'none', 'required'];
  return ValidateBy({
    name: 'isToolChoice',
    validator: {
      validate: (value: unknown) =>
        typeof value === 'object' && value !== null
          ? typeof (value as { name?: unknown }).name === 'string'
          : names.includes(String(value)),
      defaultMessage: () => '$property must be auto, none, required or a name',
    },
  });
}

/** Text to continue without a conversation; one of the two members. */
export class ChatJobPrompt {
  @IsOptional() @IsString() text?: string;

  /** Tokens of the model's own tokenizer. */
  @IsOptional() @IsArray() @IsInt({ each: true }) @Min(0, { each: true }) tokenIds?: number[];

  /** Field of the caller's request, for refusals. */
  @IsString() param!: string;
}

/** One message of the conversation in canonical form; content parts are already joined to text. */
export class ChatJobMessage {
  @IsIn(['system', 'user', 'assistant', 'tool'])
  role!: 'system' | 'user' | 'assistant' | 'tool';

  @IsString()
  content!: string;

  @IsOptional()
  @IsString()
  name?: string;

  @IsOptional()
  @IsString()
  reasoningContent?: string;

  /** Where a part to cache ends in `content`, in UTF-16 units; optional for good. */
  @IsOptional() @IsInt() @Min(0) cacheMark?: number;

  /** For models that see; optional for good. */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ChatJobImage)
  images?: ChatJobImage[];
  /** Of an assistant message; optional for good. */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ChatJobToolCall)
  toolCalls?: ChatJobToolCall[];

  /** Of a tool message: the call it is the result of; optional for good. */
  @IsOptional()
  @IsString()
  toolCallId?: string;
}

/** Sampling options. Absent members take the model's generation defaults. */
export class SamplingOptions {
  /** 0 is greedy. */
  @IsOptional() @IsNumber() @Min(0) @Max(2) temperature?: number;
  @IsOptional() @IsNumber() @Min(0) @Max(1) topP?: number;
  /** 0 disables it. */
  @IsOptional() @IsInt() @Min(0) topK?: number;
  @IsOptional() @IsNumber() @Min(0) @Max(1) minP?: number;
  /** Dynamic temperature: varies between the two with the entropy of the distribution. */
  @IsOptional() @IsNumber() @Min(0) @Max(2) minTemperature?: number;
  @IsOptional() @IsNumber() @Min(0) @Max(2) maxTemperature?: number;
  @IsOptional() @IsNumber() @Min(-2) @Max(2) frequencyPenalty?: number;
  @IsOptional() @IsNumber() @Min(-2) @Max(2) presencePenalty?: number;
  /** 1 is neutral; applies to prompt and output. */
  @IsOptional() @IsNumber() @Min(0) repetitionPenalty?: number;
  @IsOptional() @IsInt() @Min(1) seed?: number;
}

function IsLogitBias(): PropertyDecorator {
  return ValidateBy({
    name: 'isLogitBias',
    validator: {
      validate: (value: unknown) => logitBiasProblem(value) === null,
      defaultMessage: () => '$property must hold biases by token id',
    },
  });
}

function HasConversation(): PropertyDecorator {
  return ValidateBy({
    name: 'hasConversation',
    validator: {
      validate: (value: unknown, details) =>
        (Array.isArray(value) && value.length > 0) ||
        (details?.object as Partial<ChatJobPayload>)?.prompts !== undefined,
      defaultMessage: () => '$property must not be empty',
    },
  });
}

/** What the text of every choice must look like. */
export class ChatJobFormat {
  @IsIn(['json-object', 'json-schema', 'regex', 'grammar'])
  type!: 'json-object' | 'json-schema' | 'regex' | 'grammar';

  /** JSON Schema of a `json-schema` format. */
  @IsOptional() @IsObject() schema?: object;

  /** Of `schema`: whether keywords that no grammar follows are refused; absent: they are left out. Optional for good. */
  @IsOptional() @IsBoolean() strict?: boolean;

  /** Of `regex`: an ECMA-262 pattern that the whole text matches. */
  @IsOptional() @IsString() pattern?: string;

  /** Of `grammar`: EBNF whose rule `root` the whole text matches. */
  @IsOptional() @IsString() grammar?: string;

  /** Field of the caller's request, for refusals. */
  @IsString() param!: string;
}

const uncompressedKey = /^04[0-9a-f]{128}$/;

/** Keys of an end-to-end encrypted request: uncompressed ones of secp256k1, 130 hex characters in lower case. */
export class ChatJobSealing {
  /** The response is sealed for it. */
  @Matches(uncompressedKey) clientPublicKey!: string;

  /** The texts are sealed for it; only the model host that has it can open them. */
  @Matches(uncompressedKey) hostPublicKey!: string;
}

/** A chat request as the worker sees it: no OpenAI types, no HTTP, validated again on arrival. */
export class ChatJobPayload {
  /** Empty only beside `prompts`. */
  @IsArray()
  @HasConversation()
  @ValidateNested({ each: true })
  @Type(() => ChatJobMessage)
  messages!: ChatJobMessage[];

  /**
   * Texts to continue as they are, without a chat template; `n` choices for each, numbered through. Their whole output is
   * text: no reasoning and no calls. Optional for good.
   */
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(20)
  @ValidateNested({ each: true })
  @Type(() => ChatJobPrompt)
  prompts?: ChatJobPrompt[];

  /** Whether each choice begins with its prompt; only beside `prompts`. */
  @IsOptional() @IsBoolean() echo?: boolean;

  /** Biases by token id; absent: none. Optional for good. */
  @IsOptional() @IsLogitBias() logitBias?: LogitBias;

  @ValidateNested()
  @Type(() => SamplingOptions)
  sampling!: SamplingOptions;

  /** Choices to generate from the prompt. */
  @IsInt() @Min(1) @Max(128) n!: number;

  /** Maximum number of generated tokens per choice, 0 only beside `prompts` and `countsOnly`; absent: the model's limit or the end of the context. */
  @IsOptional() @IsInt() @Min(0) maxTokens?: number;

  @IsArray() @ArrayMaxSize(4) @IsString({ each: true }) stop!: string[];

  @IsArray() @IsInt({ each: true }) stopTokenIds!: number[];

  /** Null: no log-probabilities; otherwise the number of alternatives per token, 0 to 20. */
  @IsOptional() @IsInt() @Min(0) @Max(20) topLogprobs!: number | null;

  /** Passed to the chat template as `enable_thinking`; absent: the template's default. */
  @IsOptional() @IsBoolean() enableThinking?: boolean;

  /** Passed to the chat template as `reasoning_effort`; also absent in jobs of an older api. */
  @IsOptional() @IsString() reasoningEffort?: string;

  /**
   * Tokens of reasoning after which its block is closed by force; absent: no bound, as in jobs of an api that did not
   * know of it. Optional for good.
   */
  @IsOptional() @IsInt() @Min(0) thinkingBudget?: number;

  /** Drops reasoning blocks instead of sending them on the reasoning channel. */
  @IsBoolean() stripThinking!: boolean;

  @IsOptional() @IsString() promptCacheKey?: string;

  /** Searches of the web that succeeded before the job, and pages that were read; each is charged. Optional for good. */
  @IsOptional() @IsInt() @Min(0) webSearches?: number;
  @IsOptional() @IsInt() @Min(0) webSearchNano?: number;
  @IsOptional() @IsInt() @Min(0) webPages?: number;

  /** How long the cached prompt is kept before those of others, in seconds; optional for good. */
  @IsOptional() @IsInt() @Min(1) @Max(86_400) cacheSeconds?: number;

  /** Requests with another label copy nothing of this prompt's cache. Absent only in jobs of an older api. */
  @IsOptional() @IsString() cacheScope?: string;

  /** Label of the account, to which a worker counts refused work; absent in jobs of an older api. Optional for good. */
  @IsOptional() @IsString() caller?: string;

  /** Leading characters of the first message that are the model's default system prompt; absent: none. */
  @IsOptional() @IsInt() @Min(0) platformCharacters?: number;

  /** Absent: any text, as in jobs of an api that did not know of it. Optional for good. */
  @IsOptional() @ValidateNested() @Type(() => ChatJobFormat) format?: ChatJobFormat;

  /** Functions that the model may call; this and the two below are optional for good. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(128)
  @ValidateNested({ each: true })
  @Type(() => ChatJobTool)
  tools?: ChatJobTool[];

  /** Absent: `auto`. */
  @IsOptional() @IsToolChoice() toolChoice?: 'auto' | 'none' | 'required' | { name: string };

  /** Only the tokens of the prompt are counted, and nothing is computed; with `maxTokens` 0. Optional for good. */
  @IsOptional() @IsBoolean() countsOnly?: boolean;

  /** The worker says so when the job can no longer be refused for its schema; absent: it does not. Optional for good. */
  @IsOptional() @IsBoolean() reportsAcceptance?: boolean;

  /** A conversation that does not fit loses its oldest messages; absent: it is refused. Optional for good. */
  @IsOptional() @IsBoolean() truncates?: boolean;

  /** Names of the tools that may be called; absent: all. The prompt describes all. */
  @IsOptional() @IsArray() @IsString({ each: true }) allowedTools?: string[];

  /** Whether a response may hold several calls; absent: yes. */
  @IsOptional() @IsBoolean() parallelToolCalls?: boolean;

  /**
   * The contents of system and user messages are sealed fields, others and stop strings may be; see `#tee/sealing`.
   * Absent: texts are in clear. Optional for good.
   */
  @IsOptional() @ValidateNested() @Type(() => ChatJobSealing) sealing?: ChatJobSealing;
}

/** The result of a chat job; the text itself goes to the client only. */
export class ChatJobResult {
  @IsInt() @Min(0) promptTokens!: number;
  @IsInt() @Min(0) cachedTokens!: number;
  @IsOptional() @IsInt() @Min(0) cacheWriteTokens?: number;
  @IsInt() @Min(0) completionTokens!: number;
  @IsInt() @Min(0) reasoningTokens!: number;
}

/**
 * A non-streamed response survives the loss of one worker. A stream does not: the client already holds part of the
 * first response. A worker that receives a stream for the second time refuses it.
 */
export const chatJob = defineJob({
  modality: 'chat',
  payload: ChatJobPayload,
  result: ChatJobResult,
  policy: { attempts: 1, lockMs: 10_000, deadlineMs: 600_000, stalledMax: 1, concurrency: 32 },
});
