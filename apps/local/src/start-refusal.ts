/** A reason not to start that the user can do something about: its message is all that is shown. */
export class StartRefusal extends Error {
  override readonly name = 'StartRefusal';
}
