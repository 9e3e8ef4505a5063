/** What identifies the text of an input: whose it is, who made it, and from what. */
export interface CachedInput {
  accountId: string;
  modelId: string;
  contentHash: string;
}

interface CachedTexts {
  texts: readonly string[];
  bytes: number;
  expiresAtMs: number;
}

/** How long a text is kept after it was last used, in ms. */
const lifetimeMs = 3_600_000;
/** Share of the cache that one account may fill. */
const accountShare = 0.25;
/** Memory of an entry beside its text, roughly. */
const entryBytes = 256;

/**
 * Keeps what input adapters found, in memory, so that the next turn of a conversation does not pay for it again. Texts
 * are kept by account: no account finds those of another. The least recently used ones are dropped first.
 */
export class AdapterCache {
  private readonly entries = new Map<string, CachedTexts & { accountId: string }>();
  private readonly bytesOf = new Map<string, number>();
  private bytes = 0;

  /** With `maxBytes` 0 nothing is kept. */
  constructor(
    private readonly maxBytes: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  get(input: CachedInput): readonly string[] | null {
    const key = keyOf(input);
    const entry = this.entries.get(key);
    if (entry === undefined) return null;
    this.remove(key);
    if (entry.expiresAtMs <= this.nowMs()) return null;
    this.add(key, entry);
    return entry.texts;
  }

  set(input: CachedInput, texts: readonly string[]): void {
    const { accountId } = input;
    const key = keyOf(input);
    const bytes = texts.reduce((sum, text) => sum + text.length * 2, entryBytes);
    const accountBytes = this.maxBytes * accountShare;
    if (bytes > accountBytes) return;
    this.remove(key);
    this.dropUntil(accountBytes - bytes, accountId);
    this.dropUntil(this.maxBytes - bytes);
    this.add(key, { accountId, texts, bytes, expiresAtMs: 0 });
  }

  private add(key: string, entry: CachedTexts & { accountId: string }): void {
    this.entries.set(key, { ...entry, expiresAtMs: this.nowMs() + lifetimeMs });
    this.count(entry.accountId, entry.bytes);
  }

  private remove(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    this.count(entry.accountId, -entry.bytes);
  }

  /** Drops the oldest entries, of one account or of all, until at most `bytes` are left. */
  private dropUntil(bytes: number, accountId?: string): void {
    const held = (): number => (accountId === undefined ? this.bytes : (this.bytesOf.get(accountId) ?? 0));
    for (const [key, entry] of this.entries) {
      if (held() <= bytes) return;
      if (accountId === undefined || entry.accountId === accountId) this.remove(key);
    }
  }

  private count(accountId: string, bytes: number): void {
    this.bytes += bytes;
    const left = (this.bytesOf.get(accountId) ?? 0) + bytes;
    if (left === 0) this.bytesOf.delete(accountId);
    else this.bytesOf.set(accountId, left);
  }
}

function keyOf({ accountId, modelId, contentHash }: CachedInput): string {
  return [accountId, modelId, contentHash].join('\n');
}
