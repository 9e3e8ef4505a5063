import type { CompiledConstraint } from '../constraints/constraint-compiler.js';
import type { TextGenerationRequest } from '../contract/text-generation.js';
import type { PrefixScope } from '../scheduler/prefix-store.js';
import type { PromptMedia } from '../scheduler/prompt-media.js';
import type { BuiltPrompt } from '../text/index.js';
import type { PlacedImages } from './image-reader.js';
import type { ReasoningPlan } from './reasoning-control.js';

/** A running request: one sequence per choice. */
export interface ActiveRequest {
  request: TextGenerationRequest;
  opensThinking: boolean;
  promptTokens: number;
  cachedTokens: number | null;
  /** What was left out of its schemas. */
  relaxed: CompiledConstraint['relaxed'];
  /** Leading tokens of the prompt that are to be cached. */
  tokensToCache: number;
  generatedTokens: number;
  sequenceIds: string[];
  openChoices: number;
  /** Choices whose first text has been sent. */
  begun: Set<number>;
  cancelled: boolean;
  error: unknown;
  /** Gives up the memory of its constraint. */
  release: () => void;
}

/** State shared by all choices of a request. */
export interface PreparedPrompt {
  built: BuiltPrompt;
  promptIds: Int32Array;
  tokensToCache: number;
  scope: PrefixScope;
  /** 0: none. */
  adapter: number;
  maxNewTokens: number;
  /** Null: the text may be anything. */
  constraint: CompiledConstraint | null;
  /** Images that are still to be read; null without any. */
  images: PlacedImages | null;
  media: PromptMedia | null;
  /** Null: the model does not reason. */
  reasoning: ReasoningPlan | null;
}
