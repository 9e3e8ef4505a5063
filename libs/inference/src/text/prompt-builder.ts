import type { ChatTemplateMessage, TextGenerationRequest } from '../contract/text-generation.js';
import type { ChatTemplate } from './chat-template.js';

/** The text a request puts before the model, and how its continuation reads. */
export interface BuiltPrompt {
  text: string;
  /** An answer starts a text of its own; a continuation goes on with the prompt's last word. */
  kind: 'answer' | 'continuation';
  /** True when the template already opened a `<think>` block, so that the output begins inside it. */
  opensThinking: boolean;
}

export function buildPrompt(prompt: TextGenerationRequest['prompt'], template: ChatTemplate | null): BuiltPrompt {
  if ('text' in prompt) return { text: prompt.text, kind: 'continuation', opensThinking: false };
  if (template === null) return { text: plainText(prompt.messages), kind: 'continuation', opensThinking: false };
  const { messages, enableThinking, reasoningEffort } = prompt;
  const text = template.render(messages, { enableThinking, reasoningEffort });
  return { text, kind: 'answer', opensThinking: text.trimEnd().endsWith('<think>') };
}

/**
 * A conversation for a model without a chat template, which can only go on with a text: what user and assistant
 * said so far, in order and without labels, so that the model continues the last message. System messages are
 * left out: such a model would take them for the beginning of the story.
 */
function plainText(messages: readonly ChatTemplateMessage[]): string {
  return messages
    .filter((message) => message.role === 'user' || message.role === 'assistant')
    .reduce(
      (text, { content }) => (text === '' || /\s$/.test(text) || /^\s/.test(content) ? text : `${text} `) + content,
      '',
    );
}
