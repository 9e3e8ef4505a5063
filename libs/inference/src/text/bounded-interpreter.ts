import { type Environment, Interpreter, type Template } from '@huggingface/jinja';

/** What a template may use. No template of a known model comes near. */
export interface TemplateLimits {
  /** Expressions and statements that are evaluated, each time. */
  steps: number;
  /** Items of one list. */
  items: number;
  /** Characters of one text. */
  characters: number;
  /** Further ones for this conversation; asked for texts that are longer than that. */
  moreCharacters: () => number;
}

export const noTemplateLimits: TemplateLimits = {
  steps: Infinity,
  items: Infinity,
  characters: Infinity,
  moreCharacters: () => 0,
};

/** A template that needs more than its limits. */
export class TemplateLimitError extends Error {}

/** Members of the library's class used here, which its types do not resolve. */
interface TemplateInterpreter {
  run(program: Template['parsed']): { value?: unknown };
  evaluate(statement: unknown, environment: Environment): { value?: unknown };
}

const Base = Interpreter as unknown as new (environment: Environment) => TemplateInterpreter;

/** Runs a template within limits: its author wrote loops and texts that grow, and a caller what they run over. */
export class BoundedInterpreter extends Base {
  private steps = 0;
  private maxCharacters: number | null = null;

  constructor(
    environment: Environment,
    private readonly limits: TemplateLimits,
  ) {
    super(environment);
  }

  /** Called by the library for each expression and statement. */
  override evaluate(statement: unknown, environment: Environment): { value?: unknown } {
    if (++this.steps > this.limits.steps) throw new TemplateLimitError('runs without an end');
    const result = super.evaluate(statement, environment);
    const { value } = result;
    if (typeof value === 'string') this.checkLength(value.length);
    else if (Array.isArray(value) && value.length > this.limits.items) {
      throw new TemplateLimitError('makes too long a list');
    }
    return result;
  }

  /** Throws for a text of this many characters, if that is too long. */
  checkLength(length: number): void {
    const { characters, moreCharacters } = this.limits;
    if (length <= characters) return;
    this.maxCharacters ??= characters + moreCharacters();
    if (length > this.maxCharacters) throw new TemplateLimitError('makes too long a text');
  }
}
