import { contextOverflow, PlatformError } from '#common';
import type { ReasoningFormat } from '../contract/reasoning-format.js';
import { isBarePrompt, type TextGenerationRequest } from '../contract/text-generation.js';
import { type BuiltPrompt, buildPrompt, type ChatTemplate, type TextTokenizer } from '../text/index.js';
import type { BuiltImagePrompt, ImageReader } from './image-reader.js';
import { checkScoredLength } from './prompt-scorer.js';
import { checkTokenIds } from './token-checks.js';

interface PromptEncoderDependencies {
  tokenizer: TextTokenizer;
  /** Null if the model only continues text. */
  template: ChatTemplate | null;
  /** Absent: the model sees no images. */
  images?: ImageReader;
  /** Null for a model that does not reason. */
  reasoning: ReasoningFormat | null;
  /** Maximum length of prompt plus output, in tokens. */
  contextLength: number;
}

/** A prompt as the decoder takes it. */
export interface EncodedPrompt extends BuiltImagePrompt {
  promptIds: Int32Array;
}

/** Renders prompts and turns them into tokens. */
export class PromptEncoder {
  constructor(private readonly dependencies: PromptEncoderDependencies) {}

  /** Throws `TOO_MANY_TOKENS`, and `INVALID_REQUEST` for what the model does not take. */
  encode({ prompt, maxTokens, scoresPrompt }: TextGenerationRequest): EncodedPrompt {
    const built = this.build(prompt);
    const param = isBarePrompt(prompt) ? (prompt.param ?? 'messages') : 'messages';
    const promptIds = 'tokenIds' in prompt ? this.givenIds(prompt.tokenIds, param) : this.tokensOf(built.built, param);
    this.checkLength(promptIds.length, { about: '', param, room: maxTokens === 0 ? 0 : 1 });
    if (scoresPrompt === true) checkScoredLength(promptIds.length, param);
    return { ...built, promptIds };
  }

  private build(prompt: TextGenerationRequest['prompt']): BuiltImagePrompt {
    const { template, images, reasoning } = this.dependencies;
    if (images !== undefined) return images.buildPrompt(prompt, template, reasoning);
    if ('images' in prompt && (prompt.images?.length ?? 0) > 0) {
      throw new PlatformError('INVALID_REQUEST', 'This model does not support images.', 'messages');
    }
    return { built: buildPrompt(prompt, template, reasoning), placeImages: () => null };
  }

  private tokensOf({ text, kind }: BuiltPrompt, param: string): Int32Array {
    const { tokenizer, contextLength } = this.dependencies;
    const least = Math.ceil(tokenizer.byteLength(text) / tokenizer.longestTokenBytes);
    this.checkLength(least, { about: 'at least ', param });
    const ids = tokenizer.encodeWithin(text, contextLength);
    if (ids === null) throw this.tooLong(contextLength, { about: 'more than ', param });
    // A chat template writes its own BOS or deliberately none; only plain text gets the tokenizer's.
    const isBare = kind === 'continuation';
    return this.withStart(isBare ? tokenizer.withBos(ids) : Int32Array.from(ids), param);
  }

  private givenIds(ids: readonly number[], param: string): Int32Array {
    checkTokenIds(this.dependencies.tokenizer, ids, param);
    return this.withStart(Int32Array.from(ids), param);
  }

  /** Requires `room` for output tokens after the prompt. */
  private checkLength(tokens: number, { room = 0, ...detail }: { about: string; param: string; room?: number }): void {
    if (tokens + room > this.dependencies.contextLength) throw this.tooLong(tokens, detail);
  }

  private tooLong(tokens: number, { about, param }: { about: string; param: string }): PlatformError {
    return contextOverflow(this.dependencies.contextLength, { counted: `${about}${tokens}`, param });
  }

  /** Returns BOS for an empty prompt, or EOS if a model has no BOS, because it also marks the start of a text. */
  private withStart(ids: Int32Array, param: string): Int32Array {
    if (ids.length > 0) return ids;
    const { tokenizer } = this.dependencies;
    const start = tokenizer.bosTokenId ?? tokenizer.eosTokenId;
    if (start === null) throw new PlatformError('INVALID_REQUEST', 'The prompt is empty.', param);
    return Int32Array.of(start);
  }
}
