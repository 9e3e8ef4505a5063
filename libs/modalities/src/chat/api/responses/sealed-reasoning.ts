import { deriveKey } from '#common';
import { PayloadCipher } from '#jobs';

/**
 * `encrypted_content` of reasoning items: the reasoning, which the client keeps and sends back without being able to
 * read or change it. Bound to the account.
 */
export class SealedReasoning {
  private readonly cipher: PayloadCipher;

  /** `secretKey` is 64 hex digits. */
  constructor(secretKey: string) {
    this.cipher = new PayloadCipher(deriveKey(secretKey, 'reasoning items').toString('hex'));
  }

  seal(accountId: string, text: string): string {
    return Buffer.from(this.cipher.encrypt(accountId, { text })).toString('base64url');
  }

  /** Returns null for content of another account or service, or under another key. */
  open(accountId: string, content: string): string | null {
    try {
      const { text } = this.cipher.decrypt(accountId, Buffer.from(content, 'base64url')) as { text?: unknown };
      return typeof text === 'string' ? text : null;
    } catch {
      return null;
    }
  }
}
