import { defaultThinkingBudgets } from '#model-registry/manifest';
import type { ChatJobPayload } from '../../contract/chat.job.js';
import type { ChatAssistantMessage, ChatMessage } from '../../contract/chat.message.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatModelLimits, EffectiveFields } from './chat.support.js';

/** What decides about the reasoning of a model. */
type ThinkingModel = Pick<ChatModelLimits, 'capabilities'> & {
  thinkingBudgets?: Partial<Record<string, number>>;
  /** Tokens that the client grants, where it enables reasoning. Absent: those of its effort. */
  thinkingBudget?: number;
};

/** Returns how much a request thinks. An absent member leaves the choice to the model's template. */
export function thinkingOf(
  request: ChatCompletionRequest,
  { parameters, effort: requested }: Pick<EffectiveFields, 'parameters' | 'effort'>,
  { capabilities, thinkingBudgets = defaultThinkingBudgets, thinkingBudget: granted }: ThinkingModel,
): Pick<ChatJobPayload, 'enableThinking' | 'reasoningEffort' | 'thinkingBudget'> {
  const { supportsReasoningEffort, defaultReasoningEffort } = capabilities;
  const enabled = request.reasoning?.enabled ?? null;
  if (parameters.disable_thinking || enabled === false) return { enableThinking: false };
  // A client that enables reasoning overrides a model's default effort of `none`.
  const isOverruled = enabled === true && defaultReasoningEffort === 'none';
  const ofModel = supportsReasoningEffort && !isOverruled ? defaultReasoningEffort : undefined;
  const effort = requested ?? ofModel;
  const enableThinking = effort === 'none' ? false : (enabled ?? undefined);
  const hasEffort = effort !== undefined && supportsReasoningEffort;
  const ofEffort = hasEffort ? thinkingBudgets[effort] : undefined;
  const thinkingBudget = enabled === true ? (granted ?? ofEffort) : ofEffort;
  return {
    ...(enableThinking === undefined ? {} : { enableThinking }),
    ...(hasEffort ? { reasoningEffort: effort } : {}),
    ...(thinkingBudget === undefined ? {} : { thinkingBudget }),
  };
}

/**
 * The reasoning that a message echoes: `reasoning_content`, else `reasoning`, else the texts of `reasoning_details`, of
 * which streams send one per delta. Undefined without any.
 */
export function echoedReasoning(message: ChatMessage): string | undefined {
  if (message.role !== 'assistant' && message.role !== 'tool') return undefined;
  const details = message.role === 'assistant' ? joinDetails(message.reasoning_details ?? []) : null;
  return message.reasoning_content ?? message.reasoning ?? details ?? undefined;
}

/** Details of one index are pieces of one text. Null without any text. */
function joinDetails(details: NonNullable<ChatAssistantMessage['reasoning_details']>): string | null {
  const texts = new Map<number, string>();
  for (const { text, index = 0 } of details) {
    if (typeof text === 'string') texts.set(index ?? 0, (texts.get(index ?? 0) ?? '') + text);
  }
  return texts.size === 0 ? null : [...texts.values()].join('\n');
}
