/**
 * Why something of the web could not be had:
 *
 * - `not-configured`: the operator set no provider. The message names the variable.
 * - `unavailable`: a provider or the machine failed; a later attempt may succeed.
 * - `refused`: the URL, or what is behind it, cannot be used. Trying again changes nothing.
 */
export type WebFaultReason = 'not-configured' | 'unavailable' | 'refused';

/** The message is for callers: it names no address, no key and no query. */
export class WebFault extends Error {
  override readonly name = 'WebFault';

  constructor(
    readonly reason: WebFaultReason,
    message: string,
    options: ErrorOptions = {},
  ) {
    super(message, options);
  }
}
