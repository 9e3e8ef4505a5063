import type { SecretKeys } from '#platform/encryption';
import { PayloadCipher } from '#jobs';

/** Encrypts texts that a client keeps and sends back without being able to read or change them. Bound to the account. */
export class AccountCipher {
  private readonly cipher: PayloadCipher;

  /** `purpose` separates the texts of one feature from those of another. */
  constructor(secretKeys: SecretKeys, purpose: string) {
    this.cipher = new PayloadCipher(secretKeys, purpose);
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
