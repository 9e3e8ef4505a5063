import { PlatformError } from '#common';
import type { OutputConstraint } from '../contract/output-constraint.js';
import type { TextPart } from '../contract/output-region.js';
import {
  type ChatPrompt,
  type ChatTemplateMessage,
  isBarePrompt,
  type TextGenerationRequest,
} from '../contract/text-generation.js';
import type { ToolStyleName } from '../contract/tool-use.js';
import type { ReasoningFormat } from '../contract/reasoning-format.js';
import { type ChatTemplate, ControlTokens } from '../text/index.js';
import { nativeMessages, templateTools, withDescription, writtenMessages } from '../tools/template-messages.js';
import { markMessage } from '../tools/marked-message.js';
import { choice, sequence, space, toolRegions, type ToolStyle } from '../tools/tool-style.js';
import { findToolStyle } from '../tools/tool-styles.js';

/** Brings the tools of requests into the prompts of one model and its calls into their form. */
export class ToolControl {
  private readonly style: ToolStyle;
  private readonly isNative: boolean;
  private readonly control: ControlTokens;
  private acceptsSystem: boolean | null = null;

  /**
   * `declared`: the style that the manifest names. `hasParts`: the template takes contents as lists of parts. `control`:
   * of the tokenizer that reads the prompts.
   */
  constructor(
    private readonly template: ChatTemplate | null,
    declared?: string,
    private readonly options: { hasParts?: boolean; control?: ControlTokens; reasoning?: ReasoningFormat | null } = {},
  ) {
    this.control = options.control ?? new ControlTokens([]);
    const source = template?.source ?? null;
    this.style = findToolStyle(source, declared);
    // A template of another form would describe calls that nothing here reads.
    this.isNative = source !== null && this.style.name !== 'generic' && /\btools\b/.test(source);
  }

  get styleName(): ToolStyleName {
    return this.style.name;
  }

  /**
   * The request with messages and tools as the template takes them, all texts marked, and with the form of calls as its
   * constraint.
   */
  apply(request: TextGenerationRequest): TextGenerationRequest {
    const { prompt, tools: use } = request;
    if (isBarePrompt(prompt)) return request;
    const constraint = use === undefined ? request.constraint : this.constraint(request);
    return { ...request, prompt: this.prompt(prompt, use?.tools ?? []), constraint };
  }

  private prompt(prompt: ChatPrompt, tools: NonNullable<TextGenerationRequest['tools']>['tools']): ChatPrompt {
    const { style, control } = this;
    const mark = <Message extends ChatTemplateMessage>(message: Message): Message =>
      markMessage(message, control, this.options.reasoning ?? null);
    if (this.isNative) {
      const messages = nativeMessages(prompt.messages, style, this.takesObjects()).map(mark);
      return { ...prompt, messages, ...(tools.length === 0 ? {} : { tools: control.markAll(templateTools(tools)) }) };
    }
    const written = writtenMessages(prompt.messages.map(mark), { style, tools, control });
    // A model without a template goes on with a text; a description would become part of it.
    if (tools.length === 0 || this.template === null) return { ...prompt, messages: written };
    const into = this.takesSystem() ? 'system' : 'user';
    return { ...prompt, messages: withDescription(written, { style, tools, control, into }) };
  }

  private constraint({ tools, constraint }: TextGenerationRequest): OutputConstraint | undefined {
    if (tools === undefined) return constraint;
    const other = constraint === undefined ? null : sequence(space, partOf(constraint));
    return { type: 'regions', regions: toolRegions(this.style, tools, other), param: 'tools' };
  }

  /** Templates of DeepSeek join the arguments to other text, most others write an object. */
  private takesObjects(): boolean {
    const { source = '' } = this.template ?? {};
    return !this.style.name.startsWith('deepseek') || /arguments['"]?\]?\s*\|\s*tojson/.test(source);
  }

  private takesSystem(): boolean {
    this.acceptsSystem ??= this.tryRender(['system', 'user']);
    return this.acceptsSystem;
  }

  private tryRender(roles: readonly string[]): boolean {
    try {
      const messages = roles.map((role) => ({ role, content: 'x' }));
      this.template?.render(messages, this.options);
      return true;
    } catch {
      return false;
    }
  }
}

/** The texts of a constraint. */
function partOf(constraint: OutputConstraint): TextPart {
  switch (constraint.type) {
    case 'json-object':
      return { type: 'json-object' };
    case 'json-schema':
      return constraint;
    case 'regex':
      return { type: 'regex', pattern: constraint.pattern };
    case 'grammar':
      throw new PlatformError('INVALID_REQUEST', 'A grammar cannot be combined with tools.', constraint.param);
    case 'regions':
      return choice([]);
  }
}
