export type RefusedSubject = 'schema' | 'pattern' | 'grammar';

/** What a compilation has reached. Without a field it is that of the whole constraint. */
export interface CompilePlace {
  /** As of a refusal. */
  pointer: string;
  param?: string;
  subject?: RefusedSubject;
}

/** Why a schema or pattern cannot be turned into a grammar. `pointer` is a JSON pointer into the schema. */
export class ConstraintRefusal extends Error {
  constructor(
    readonly reason: string,
    readonly pointer = '',
    /** Field of the request that holds the schema; null: the one of the whole constraint. */
    readonly param: string | null = null,
    /** What is refused; null: what the whole constraint is. */
    readonly subject: RefusedSubject | null = null,
  ) {
    super(pointer === '' ? reason : `${pointer}: ${reason}`);
  }

  /** The same reason, located at `pointer` unless it has a location already. */
  at(pointer: string): ConstraintRefusal {
    return this.pointer === '' ? new ConstraintRefusal(this.reason, pointer, this.param, this.subject) : this;
  }

  /** The same reason, in the field `param` unless it has a field already. */
  in(param: string, subject: RefusedSubject | null = null): ConstraintRefusal {
    return this.param === null ? new ConstraintRefusal(this.reason, this.pointer, param, subject) : this;
  }
}

/** Runs `work`; a refusal without a location gets `pointer`. */
export function located<Result>(pointer: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof ConstraintRefusal ? error.at(pointer) : error;
  }
}
