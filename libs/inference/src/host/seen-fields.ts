import { createHash } from 'node:crypto';

/** Fields that are remembered; each takes about 200 bytes. */
const defaultMax = 32_768;

/**
 * The sealed fields that a host opened, and the client that each came from. Nothing in a field says for whom the response is:
 * whoever has a copy could send it again with a key of their own, and read what the model makes of it. A client that sends
 * its request again, or its conversation with each turn, names the same key.
 */
export class SeenFields {
  private readonly clients = new Map<string, string>();

  constructor(private readonly max = defaultMax) {}

  /** Whether the field is new, or came from this client before; it is then remembered. */
  admit(field: string, clientKey: string): boolean {
    // The sender's key and the nonce, which no other field of an honest client has.
    const id = digest(field.slice(0, 154));
    const client = digest(clientKey);
    const known = this.clients.get(id);
    if (known !== undefined && known !== client) return false;
    // The ones used last are kept.
    this.clients.delete(id);
    this.clients.set(id, client);
    const [oldest] = this.clients.keys();
    if (this.clients.size > this.max && oldest !== undefined) this.clients.delete(oldest);
    return true;
  }
}

function digest(hex: string): string {
  return createHash('sha256').update(hex.toLowerCase()).digest('base64url').slice(0, 22);
}
