import type { ChatTemplateMessage, TextGenerationRequest } from '../contract/text-generation.js';
import type { ChatTemplate, ChatTemplateOptions } from './chat-template.js';

/** Prompt text of a request, and how to treat its continuation. */
export interface BuiltPrompt {
  text: string;
  /** A response starts a new text; a continuation follows the prompt's last word. */
  kind: 'answer' | 'continuation';
  /** True if the template already opened a `<think>` block, so that the output begins inside it. */
  opensThinking: boolean;
}

export function buildPrompt(
  prompt: TextGenerationRequest['prompt'],
  template: ChatTemplate | null,
  { hasParts }: Pick<ChatTemplateOptions, 'hasParts'> = {},
): BuiltPrompt {
  if ('text' in prompt) return { text: prompt.text, kind: 'continuation', opensThinking: false };
  if (template === null) return { text: plainText(prompt.messages), kind: 'continuation', opensThinking: false };
  const { messages, enableThinking, reasoningEffort } = prompt;
  const text = template.render(messages, { enableThinking, reasoningEffort, hasParts });
  return { text, kind: 'answer', opensThinking: text.trimEnd().endsWith('<think>') };
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
