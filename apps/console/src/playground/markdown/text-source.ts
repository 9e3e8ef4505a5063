type Listener = (piece: string | null) => void;

/** A text that grows. Views that come later get what there is, then every piece. */
export class TextSource {
  private whole = '';
  private isComplete = false;
  private readonly listeners = new Set<Listener>();

  get text(): string {
    return this.whole;
  }

  append(piece: string): void {
    this.whole += piece;
    for (const listener of this.listeners) listener(piece);
  }

  end(): void {
    this.isComplete = true;
    for (const listener of this.listeners) listener(null);
  }

  /** Calls the listener with the text so far, with each further piece, and with null at the end. */
  follow(listener: Listener): () => void {
    if (this.whole !== '') listener(this.whole);
    if (this.isComplete) listener(null);
    else this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
