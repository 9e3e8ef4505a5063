/**
 * The latest requests whose claims ended without a successful response. Code that still works on one, because it has
 * not noticed the disconnect, must not continue as if it had come without a key. A hundred thousand ids are about 10
 * MB, and more than a replica loses while one request is on its way to admission.
 */
export class EndedRequests {
  private readonly ids = new Set<string>();

  constructor(private readonly max = 100_000) {}

  add(requestId: string): void {
    this.ids.add(requestId);
    if (this.ids.size <= this.max) return;
    const [oldest] = this.ids;
    if (oldest !== undefined) this.ids.delete(oldest);
  }

  has(requestId: string): boolean {
    return this.ids.has(requestId);
  }
}
