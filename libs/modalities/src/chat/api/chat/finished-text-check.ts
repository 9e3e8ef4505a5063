import { type SchemaNote, SchemaValidator } from '#common/json-schema';
import type { ChatEvent, PromptReadyEvent } from '../../contract/chat.events.js';
import type { ChatJobPayload } from '../../contract/chat.job.js';
import type { ChatWarning } from '../../contract/chat.warning.js';
import { formatSchema, placeOf, relaxedWarning, type RequestSchema, toolSchemas } from '../job/schema-checks.js';

type RelaxedKeyword = NonNullable<PromptReadyEvent['relaxed']>[number];

/** The texts of one choice so far. */
interface ChoiceTexts {
  content: string[];
  calls: { name: string; text: string[] }[];
}

/**
 * Follows the events of one response: says which keywords the compiler left out of the schemas that are not strict, and
 * examines the finished texts against those. A text that violates one stays as it is, and the response says so.
 */
export class FinishedTextCheck {
  private readonly tools: ReadonlyMap<string, LazyValidator>;
  private readonly format: LazyValidator | null;
  private readonly choices = new Map<number, ChoiceTexts>();
  private readonly found = new Map<string, ChatWarning>();

  /** `nameOf` returns the name of a chat field in the client's request. Default: the same. */
  constructor(
    payload: ChatJobPayload,
    private readonly nameOf: (path: string) => string = (path) => path,
  ) {
    const lenient = [...toolSchemas(payload)].filter(([, { isStrict }]) => !isStrict);
    this.tools = new Map(lenient.map(([name, schema]) => [name, new LazyValidator(schema)]));
    const [format] = formatSchema(payload).filter(({ isStrict }) => !isStrict);
    this.format = format === undefined ? null : new LazyValidator(format);
  }

  /** What was left out, and what the texts so far violate, each keyword once. */
  get warnings(): ChatWarning[] {
    return [...this.found.values()];
  }

  add(event: ChatEvent): void {
    if (event.type === 'prompt-ready') this.addRelaxed(event.relaxed ?? []);
    if (this.format === null && this.tools.size === 0) return;
    if (event.type === 'prompt-ready' || event.type === 'prompt-scores') return;
    const choice = this.choices.get(event.index) ?? { content: [], calls: [] };
    this.choices.set(event.index, choice);
    if (event.type === 'tool-call') choice.calls[event.call] = { name: event.name, text: [] };
    else if (event.type === 'tool-call-delta') choice.calls[event.call]?.text.push(event.text);
    else if (event.type === 'text-delta') this.addText(choice, event);
    else this.finish(event.index, choice, event.finishReason === 'length');
  }

  private addRelaxed(keywords: readonly RelaxedKeyword[]): void {
    const byField = new Map<string, SchemaNote[]>();
    for (const { param, ...note } of keywords) byField.set(param, [...(byField.get(param) ?? []), note]);
    for (const [param, notes] of byField) this.found.set(`${param} relaxed`, relaxedWarning(this.nameOf(param), notes));
  }

  private addText({ content }: ChoiceTexts, { channel, text }: Extract<ChatEvent, { type: 'text-delta' }>): void {
    if (channel === 'content' && this.format !== null) content.push(text);
  }

  private finish(index: number, { content, calls }: ChoiceTexts, isCut: boolean): void {
    this.choices.delete(index);
    if (isCut) return;
    if (this.format !== null && calls.length === 0) this.examine(this.format, content.join(''));
    for (const { name, text } of calls) {
      const validator = this.tools.get(name);
      if (validator !== undefined) this.examine(validator, text.join(''));
    }
  }

  private examine(validator: LazyValidator, text: string): void {
    const violation = validator.violationOf(text);
    if (violation === null) return;
    const param = this.nameOf(validator.source.param);
    const message = `The text does not keep the schema at ${placeOf(violation.pointer)}: ${violation.reason}.`;
    this.found.set(`${param} ${violation.pointer}`, { code: 'schema_violated', param, message });
  }
}

/** Reads a schema when its first text is complete. */
class LazyValidator {
  private validator: SchemaValidator | null = null;

  constructor(readonly source: RequestSchema) {}

  violationOf(text: string): SchemaNote | null {
    const value = parsed(text);
    if (value === undefined) return null;
    this.validator ??= new SchemaValidator(this.source.schema);
    return this.validator.violationOf(value);
  }
}

/** Undefined for a text that the output limit or a stop string cut. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
