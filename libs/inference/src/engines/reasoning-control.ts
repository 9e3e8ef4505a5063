import { PlatformError } from '#common';
import type { CompiledConstraint } from '../constraints/constraint-compiler.js';
import { ReasoningConstraint } from '../constraints/reasoning-constraint.js';
import { ReasoningTokens } from '../constraints/reasoning-tokens.js';
import type { ReasoningFormat } from '../contract/reasoning-format.js';
import { isBarePrompt, type TextGenerationRequest } from '../contract/text-generation.js';
import type { TokenConstraint } from '../sampling/token-constraint.js';
import { type GenerationConfig, ReasoningScanner, type TextTokenizer } from '../text/index.js';

/** How one request may reason. */
export interface ReasoningPlan {
  startsInside: boolean;
  /** Tokens after which a block is closed by force; null: none. */
  budget: number | null;
}

/** Follows and bounds the reasoning of one model. */
export class ReasoningControl {
  /** Null where the tokenizer's tokens have no bytes of their own, or do not spell the closing delimiter. */
  private readonly tokens: ReasoningTokens | null;

  constructor(
    readonly format: ReasoningFormat,
    { tokenizer, generation }: { tokenizer: TextTokenizer; generation: GenerationConfig },
  ) {
    this.tokens = tokensOf(format, tokenizer, generation.eosTokenIds);
  }

  /** Throws `INVALID_REQUEST` for a budget that this model's tokenizer cannot keep to. */
  planFor({ prompt }: TextGenerationRequest, { opensThinking }: { opensThinking: boolean }): ReasoningPlan | null {
    if (isBarePrompt(prompt)) return null;
    if (prompt.thinkingBudget !== undefined && this.tokens === null) {
      throw new PlatformError('INVALID_REQUEST', 'This model cannot bound its reasoning.', 'reasoning_effort');
    }
    const budget = prompt.enableThinking === false ? 0 : (prompt.thinkingBudget ?? null);
    return { startsInside: opensThinking, budget };
  }

  scanner({ startsInside }: ReasoningPlan): ReasoningScanner {
    return new ReasoningScanner(this.format, { startsInside });
  }

  /** The constraint of one choice; null if none is needed. `endings`: tokens that may end a constrained answer. */
  constraint(
    { startsInside, budget }: ReasoningPlan,
    answer: CompiledConstraint | null,
    endings: readonly number[],
  ): TokenConstraint | null {
    const newAnswer = answer && ((): TokenConstraint => answer.newMatcher(endings));
    // A request that switched reasoning off begins with the answer.
    const isOff = budget === 0 && !startsInside;
    if (this.tokens === null || (budget === null && newAnswer === null) || (isOff && newAnswer !== null)) {
      return newAnswer?.() ?? null;
    }
    return new ReasoningConstraint(this.tokens, { startsInside, budget, newAnswer, rawStops: endings });
  }
}

function tokensOf(
  format: ReasoningFormat,
  tokenizer: TextTokenizer,
  endings: ReadonlySet<number>,
): ReasoningTokens | null {
  const { tokenBytes } = tokenizer;
  if (tokenBytes === null) return null;
  try {
    return new ReasoningTokens(tokenBytes, format, { closeIds: tokenizer.encode(format.close), endings });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
