import { useEffect, useState } from 'preact/hooks';
import { onSession } from '../../api/session.js';
import { TextSource } from '../markdown/text-source.js';
import { type ChatSettings, chatRequestOf, type Question, type Turn } from './chat-request.js';
import { queuedState, runChat, type RunState } from './chat-run.js';

export interface Answer {
  role: 'assistant';
  model: string;
  text: TextSource;
  reasoning: TextSource;
  state: RunState;
  /** The request that it answers, for "copy as". */
  body: Record<string, unknown>;
}

/** A chat with one model. It goes on while another view is open. */
export class Conversation {
  private entries: (Question | Answer)[] = [];
  private controller: AbortController | null = null;
  private readonly listeners = new Set<() => void>();

  get turns(): readonly (Question | Answer)[] {
    return this.entries;
  }

  get isRunning(): boolean {
    return this.controller !== null;
  }

  /** Asks a question. Throws a `SettingError` before anything is sent if a setting cannot be used. */
  ask(model: string, settings: ChatSettings, question: Question): void {
    const body = chatRequestOf(model, settings, [...this.history(), question]);
    const answer: Answer = {
      role: 'assistant',
      model,
      text: new TextSource(),
      reasoning: new TextSource(),
      state: queuedState,
      body,
    };
    this.entries = [...this.entries, question, answer];
    this.run(answer);
  }

  stop(): void {
    this.controller?.abort();
  }

  clear(): void {
    this.stop();
    this.entries = [];
    this.notify();
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private run(answer: Answer): void {
    const controller = new AbortController();
    this.controller = controller;
    this.notify();
    const sink = {
      appendText: (text: string) => answer.text.append(text),
      appendReasoning: (text: string) => answer.reasoning.append(text),
    };
    const onState = (state: RunState): void => {
      answer.state = state;
      this.notify();
    };
    void runChat(answer.body, sink, controller.signal, onState).then(() => {
      answer.text.end();
      answer.reasoning.end();
      if (this.controller === controller) this.controller = null;
      this.notify();
    });
  }

  /** Earlier turns as the service reads them. Answers that failed without a text are left out with their question. */
  private history(): Turn[] {
    return this.entries.flatMap((entry, index): Turn[] => {
      if (entry.role === 'assistant') {
        const { text, reasoning } = entry;
        return text.text === '' ? [] : [{ role: 'assistant', content: text.text, reasoning: reasoning.text }];
      }
      const next = this.entries[index + 1];
      return next?.role === 'assistant' && next.text.text === '' ? [] : [entry];
    });
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

/** Two, so that models can be compared side by side. */
export const conversations: readonly [Conversation, Conversation] = [new Conversation(), new Conversation()];

// The next person to sign in must not read the chats of the last.
onSession(({ state }) => {
  if (state === 'signed-out') for (const conversation of conversations) conversation.clear();
});

/** Renders again when the conversation changes. */
export function useConversation(conversation: Conversation): Conversation {
  const [, setVersion] = useState(0);
  useEffect(() => conversation.onChange(() => setVersion((version) => version + 1)), [conversation]);
  return conversation;
}
