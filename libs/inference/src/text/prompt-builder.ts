import type { ReasoningFormat } from '../contract/reasoning-format.js';
import type { ChatPrompt, ChatTemplateMessage, TextGenerationRequest } from '../contract/text-generation.js';
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
  if ('text' in prompt) return { text: prompt.text, kind: 'continuation', opensThinking: false };
  if (template === null) return { text: plainText(prompt.messages), kind: 'continuation', opensThinking: false };
  return { kind: 'answer', ...renderChat({ ...prompt, hasParts }, template, reasoning) };
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
 * Builds the prompt for a model without a chat template, which can only continue text. User and assistant turns are
 * joined in order and without labels, so the model continues the last message. System messages are dropped, because
 * such a model would treat them as the beginning of the text.
 */
function plainText(messages: readonly ChatTemplateMessage[]): string {
  return messages
    .filter((message) => message.role === 'user' || message.role === 'assistant')
    .reduce(
      (text, { content }) => (text === '' || /\s$/.test(text) || /^\s/.test(content) ? text : `${text} `) + content,
      '',
    );
}
