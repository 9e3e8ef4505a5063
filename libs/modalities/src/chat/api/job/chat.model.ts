import type { ResolvedModel } from '#model-registry';
import type { ModelManifest, TextConstraints } from '#model-registry/manifest';
import type { ChatJobSealing } from '../../contract/chat.job.js';
import type { ChatModelLimits } from './chat.support.js';

/** What the normalizer needs from a resolved model. */
export interface ChatModel extends ChatModelLimits {
  contextLength: number;
  /** Maximum number of tokens of an image and of a frame of a video; absent: unknown. */
  imageTokens?: number;
  frameTokens?: number;
  /** Prepended unless the client disables it. */
  systemPrompt: string | null;
  /** Prompt of the character that the request names; it follows the default one. Absent: none, or an unknown one. */
  characterPrompt?: string;
  /** Default sampling options, which `GET /models` also lists. */
  constraints: TextConstraints | null;
  /** Keys of an end-to-end encrypted request, which gets no prompt of the platform. Absent: it is in clear. */
  sealing?: ChatJobSealing;
  /** Pairs of the model suffix, `name=value`. */
  suffix: Record<string, string>;
  /** Tokens of reasoning by effort; an effort that is not listed has no bound. Absent: the defaults. */
  thinkingBudgets?: Partial<Record<string, number>>;
  /** Tokens of reasoning that the client grants. Absent: those of its effort. */
  thinkingBudget?: number;
}

const defaultMaxChoices = 4;
/** Context length of models whose manifest names none, in tokens. */
const defaultContextLength = 2048;

/** Texts of the platform that begin a conversation. */
export interface PlatformPrompts {
  /** The default one; see `SystemPrompts`. */
  systemPrompt: string | null;
  /** Absent: no character. */
  characterPrompt?: string;
}

export function chatModel({ manifest, suffix }: ResolvedModel, prompts: PlatformPrompts): ChatModel {
  const contextLength = manifest.contextLength ?? defaultContextLength;
  return {
    id: manifest.id,
    family: manifest.family,
    capabilities: manifest.capabilities,
    maxChoices: manifest.maxChoices ?? defaultMaxChoices,
    maxCompletionTokens: manifest.maxCompletionTokens ?? contextLength,
    contextLength,
    inputAdapters: manifest.inputAdapters ?? {},
    ...prompts,
    ...imageTokensOf(manifest),
    constraints: (manifest.constraints as TextConstraints | undefined) ?? null,
    suffix,
    thinkingBudgets: manifest.reasoning?.budgets,
  };
}

function imageTokensOf({ familyOptions = {} }: ModelManifest): Pick<ChatModel, 'imageTokens' | 'frameTokens'> {
  const { imageTokens, frameTokens } = familyOptions;
  return {
    ...(typeof imageTokens === 'number' ? { imageTokens } : {}),
    ...(typeof frameTokens === 'number' ? { frameTokens } : {}),
  };
}
