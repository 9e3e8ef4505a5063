/**
 * A failure of a start that an operator can end: one sentence names what is wrong and the way out. Only the message is
 * shown, without a stack.
 */
export class StartRefusal extends Error {
  override readonly name: string = 'StartRefusal';
}
