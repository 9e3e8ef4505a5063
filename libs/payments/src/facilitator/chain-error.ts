/**
 * Why a node gave no usable answer:
 *
 * - `unreachable`: there is no answer; the node may have processed the request.
 * - `refused`: the node answered with an error of its own.
 * - `nonsense`: the answer is not what the protocol says.
 * - `unusable`: the chain is not in the state that is needed, such as a fee payer without funds.
 */
export type ChainFault = 'unreachable' | 'refused' | 'nonsense' | 'unusable';

/** What a node says about a call that it refuses. */
export interface NodeRefusal {
  code: number;
  /** `data` of the error object, as received. */
  data: unknown;
}

/**
 * The outcome is unknown: never a failure of the payment. The message is for the operator's log and names neither the
 * URL of a node nor a key.
 */
export class ChainError extends Error {
  override readonly name = 'ChainError';

  constructor(
    readonly fault: ChainFault,
    message: string,
    options: ErrorOptions & { refusal?: NodeRefusal } = {},
  ) {
    super(message, options);
    this.refusal = options.refusal;
  }

  readonly refusal: NodeRefusal | undefined;
}
