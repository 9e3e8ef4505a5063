import type { ReasoningFormat } from '../contract/reasoning-format.js';
import {
  type ChatPrompt,
  type ChatTemplateMessage,
  isBarePrompt,
  type TextGenerationRequest,
} from '../contract/text-generation.js';
import type { ChatTemplate, ChatTemplateOptions } from './chat-template.js';

/** Prompt text of a request, and how to treat its continuation. */
export interface BuiltPrompt {
  text: string;
  /** A response starts a new text; a continuation follows the prompt's last word. */
  kind: 'answer' | 'continuation';
  /** True if the template already opened a reasoning block, so that the output begins inside it. */
  opensThinking: boolean;
}

/** `reasoning`: the model's format; null if it is not known to reason. */
export function buildPrompt(
  prompt: TextGenerationRequest['prompt'],
  template: ChatTemplate | null,
  reasoning: ReasoningFormat | null = template?.reasoning ?? null,
  { hasParts }: Pick<ChatTemplateOptions, 'hasParts'> = {},
): BuiltPrompt {
  if (isBarePrompt(prompt)) {
    // Token ids are the prompt as they are.
    const text = 'text' in prompt ? prompt.text : '';
    return { text, kind: 'continuation', opensThinking: false };
  }
  if (template === null) return { text: plainText(prompt.messages), kind: 'continuation', opensThinking: false };
  return { kind: 'answer', ...renderChat({ ...prompt, hasParts }, template, reasoning) };
}

/** Stands for what a caller writes. From the private use area, so that no template or tokenizer knows it. */
const callerText = '\uE000\uE001\uE000';

/**
 * Returns the beginning of a conversation's prompt that no caller wrote: the template up to the first message, and the
 * platform's own part of that message. Empty if the template takes no such conversation.
 */
export function platformText(
  { prompt, platformCharacters = 0 }: Pick<TextGenerationRequest, 'prompt' | 'platformCharacters'>,
  template: ChatTemplate,
  { hasParts }: Pick<ChatTemplateOptions, 'hasParts'> = {},
): string {
  if (isBarePrompt(prompt)) return '';
  const [first, second] = prompt.messages;
  if (first === undefined) return '';
  const platform = first.content.slice(0, platformCharacters);
  const isWhole = platformCharacters > 0 && platform.length === first.content.length;
  const messages = isWhole
    ? [
        { role: first.role, content: platform },
        { role: second?.role ?? 'user', content: callerText },
      ]
    : [{ role: first.role, content: platform + callerText }];
  const { enableThinking, reasoningEffort } = prompt;
  try {
    const [text = '', ...rest] = template
      .render(messages, { enableThinking, reasoningEffort, hasParts })
      .split(callerText);
    return rest.length === 0 ? '' : text;
  } catch {
    return '';
  }
}

/** A template that cannot switch reasoning off gets an empty block, as templates with the switch write it. */
function renderChat(
  { messages, ...options }: ChatPrompt & Pick<ChatTemplateOptions, 'hasParts'>,
  template: ChatTemplate,
  reasoning: ReasoningFormat | null,
): Pick<BuiltPrompt, 'text' | 'opensThinking'> {
  const text = template.render(messages, options);
  if (reasoning === null) return { text, opensThinking: false };
  const { open, close } = reasoning;
  const opensThinking = text.trimEnd().endsWith(open);
  if (options.enableThinking !== false || (!opensThinking && template.hasThinkingSwitch))
    return { text, opensThinking };
  return { text: `${opensThinking ? text.trimEnd() : text + open}\n\n${close}\n\n`, opensThinking: false };
}

/**
 * Builds the prompt for a model without a chat template, which can only continue text. The turns are joined in order
 * and without labels, so the model continues the last message. System messages are the beginning of the text.
 */
function plainText(messages: readonly ChatTemplateMessage[]): string {
  return messages
    .filter(({ role }) => role === 'system' || role === 'user' || role === 'assistant')
    .reduce(
      (text, { content }) => (text === '' || /\s$/.test(text) || /^\s/.test(content) ? text : `${text} `) + content,
      '',
    );
}
