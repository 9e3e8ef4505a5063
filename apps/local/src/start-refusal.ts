/** A startup failure that the user can fix; only its message is shown. */
export class StartRefusal extends Error {
  override readonly name = 'StartRefusal';
}
