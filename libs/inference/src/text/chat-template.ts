import { join } from 'node:path';
import { PlatformError } from '#common';
import { CallTimeout, callWithin } from '#platform/timed-call';
import { Environment, Template } from '@huggingface/jinja';
import { TemplateLimitError } from './bounded-interpreter.js';
import type { ChatTemplateMessage } from '../contract/text-generation.js';
import type { ReasoningFormat } from '../contract/reasoning-format.js';
import { formatDate } from './format-date.js';
import { ControlTokens } from './control-tokens.js';
import { MarkedInterpreter } from './marked-interpreter.js';
import { findReasoningFormat } from './reasoning-formats.js';
import { readJsonIfPresent, readTextIfPresent, type SpecialTokens, type TokenizerConfig } from './text-tokenizer.js';

export interface ChatTemplateOptions {
  /** Passed to the template as `enable_thinking` and `thinking`, the names in use; absent uses its default. */
  enableThinking?: boolean;
  /** Passed to the template as `reasoning_effort`; absent uses its default. */
  reasoningEffort?: string;
  /** Passes contents as lists of text and image parts, as templates of models that see expect them. */
  hasParts?: boolean;
  /** Tokens; passed to the template as `thinking_budget`; absent uses its default. */
  thinkingBudget?: number;
  /** Passed to the template as `tools`. */
  tools?: readonly object[];
}

/** Thrown by a template's `raise_exception`; its text is the template author's. */
class TemplateRefusal extends Error {}

/** A template stops after this, by a clock: what it does at once, such as writing a value, is no step. */
const maxMs = 5_000;
const maxSteps = 5_000_000;
const maxItems = 2_000_000;
/** Characters of a prompt whatever the conversation is, and for each character of it. */
const ownCharacters = 2 ** 20;
const charactersForEach = 8;

/** Renders a conversation as the text its model was trained on, with the model's own Jinja template. */
export class ChatTemplate {
  /** The reasoning format that the template mentions; null without one. */
  readonly reasoning: ReasoningFormat | null;
  private readonly template: Template;
  private switchable: boolean | null = null;

  constructor(
    readonly source: string,
    private readonly special: SpecialTokens,
    private readonly now: () => Date = () => new Date(),
    /** Of the tokenizer that reads the prompts; texts of messages may hold its marks. */
    private readonly control = new ControlTokens([]),
    private readonly limitMs = maxMs,
  ) {
    this.template = parsed(source, limitMs);
    this.reasoning = findReasoningFormat(source);
  }

  /** Whether `enableThinking` makes a difference to a prompt. */
  get hasThinkingSwitch(): boolean {
    this.switchable ??= this.findSwitch();
    return this.switchable;
  }

  /**
   * Returns the prompt up to the start of the assistant's response, with the marks that the messages have. An exception
   * of the template becomes a 400 on `messages`.
   */
  render(messages: readonly ChatTemplateMessage[], options: ChatTemplateOptions = {}): string {
    try {
      const interpreter = this.interpreter(messages, options);
      return String(callWithin(this.limitMs, () => interpreter.run(this.template.parsed)).value ?? '');
    } catch (error) {
      if (error instanceof TemplateRefusal) {
        throw new PlatformError('INVALID_REQUEST', `This model refuses the conversation: ${error.message}`, 'messages');
      }
      if (error instanceof TemplateLimitError || error instanceof CallTimeout) {
        const reason = error instanceof CallTimeout ? 'takes too long' : error.message;
        throw new PlatformError('INFERENCE_FAILED', `The chat template of this model ${reason}.`, 'messages');
      }
      const text = 'The chat template of this model failed on this conversation.';
      throw new PlatformError('INFERENCE_FAILED', text, 'messages', { cause: error });
    }
  }

  private findSwitch(): boolean {
    const messages = [{ role: 'user', content: 'Hello' }];
    try {
      return this.render(messages, { enableThinking: true }) !== this.render(messages, { enableThinking: false });
    } catch {
      return false;
    }
  }

  private interpreter(messages: readonly ChatTemplateMessage[], options: ChatTemplateOptions): MarkedInterpreter {
    // A template repeats what it is given a few times at most.
    const moreCharacters = (): number => charactersForEach * JSON.stringify([messages, options.tools]).length;
    const limits = { steps: maxSteps, items: maxItems, characters: ownCharacters, moreCharacters };
    return new MarkedInterpreter(this.environment(messages, options), this.control, limits);
  }

  private environment(
    messages: readonly ChatTemplateMessage[],
    { enableThinking, reasoningEffort, thinkingBudget, tools, hasParts = false }: ChatTemplateOptions,
  ): Environment {
    const environment = new Environment();
    const variables: Record<string, unknown> = {
      ...literals,
      range,
      raise_exception: (message: unknown) => {
        throw new TemplateRefusal(this.control.unmark(String(message)));
      },
      strftime_now: (format: unknown) => formatDate(this.now(), String(format)),
      messages: messages.map(({ cacheMark: _mark, ...message }) =>
        withoutAbsent(hasParts ? contentParts(message) : message),
      ),
      add_generation_prompt: true,
      bos_token: this.special.bos ?? '',
      eos_token: this.special.eos ?? '',
      unk_token: this.special.unk ?? '',
      pad_token: this.special.pad ?? '',
      ...(enableThinking === undefined ? {} : { enable_thinking: enableThinking, thinking: enableThinking }),
      ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
      ...(thinkingBudget === undefined ? {} : { thinking_budget: thinkingBudget }),
      ...(tools === undefined ? {} : { tools }),
    };
    for (const [name, value] of Object.entries(variables)) environment.set(name, value);
    return environment;
  }
}

const literals = { true: true, false: false, none: null, True: true, False: false, None: null };

function parsed(source: string, limitMs: number): Template {
  try {
    return callWithin(limitMs, () => new Template(source));
  } catch (error) {
    if (!(error instanceof CallTimeout)) throw error;
    throw new PlatformError('INVALID_MODEL', 'The chat template of this model takes too long to read.');
  }
}

function range(start: number, stop?: number, step = 1): number[] {
  const [from, to] = stop === undefined || stop === null ? [0, start] : [start, stop];
  const count = Math.max(0, Math.ceil((to - from) / step));
  if (!(count <= maxItems)) throw new TemplateLimitError('makes too long a list');
  return Array.from({ length: count }, (_, index) => from + index * step);
}

/** Omits undefined members, because templates test `message.name is defined`. */
function withoutAbsent(message: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined && value !== null));
}

/**
 * Returns the source of a model's template, or null without one: `chat_template.jinja`, else `chat_template` of
 * `chat_template.json` or `tokenizer_config.json`. The latter is a string, or a list of named templates of which
 * `default` is used.
 */
export async function loadTemplateSource(directory: string, config: TokenizerConfig): Promise<string | null> {
  const file = await readTextIfPresent(join(directory, 'chat_template.jinja'));
  const json = await readJsonIfPresent<TokenizerConfig>(join(directory, 'chat_template.json'));
  return file ?? templateOf(json?.chat_template) ?? templateOf(config.chat_template);
}

function templateOf(template: TokenizerConfig['chat_template']): string | null {
  if (template === null || template === undefined) return null;
  if (typeof template === 'string') return template;
  const chosen = template.find((entry) => entry.name === 'default') ?? template[0];
  return chosen?.template ?? null;
}

/** One part of a message, as chat templates of models that see read it. */
type ContentPart = { type: 'text'; text: string } | { type: 'image' };

/** Returns the message with its content as a list of parts, never an empty one: some templates read the first. */
function contentParts({ imagePositions = [], ...message }: ChatTemplateMessage): object {
  const { content } = message;
  const parts: ContentPart[] = [];
  const addText = (from: number, to: number): void => {
    if (to > from) parts.push({ type: 'text', text: content.slice(from, to) });
  };
  imagePositions.forEach((position, index) => {
    addText(imagePositions[index - 1] ?? 0, position);
    parts.push({ type: 'image' });
  });
  addText(imagePositions.at(-1) ?? 0, content.length);
  return { ...message, content: parts.length > 0 ? parts : [{ type: 'text', text: '' }] };
}
