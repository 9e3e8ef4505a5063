import { SecretBox } from './secret-box.js';

/** Encrypts the payloads of open jobs at rest, each bound to its request id. */
export class PayloadCipher {
  private readonly box: SecretBox;

  /** `secretKey` is 64 hex digits. */
  constructor(secretKey: string) {
    this.box = new SecretBox(secretKey);
  }

  encrypt(requestId: string, payload: object): Uint8Array<ArrayBuffer> {
    return this.box.seal(requestId, JSON.stringify(payload));
  }

  /** Throws when the key differs, or the bytes belong to another request. */
  decrypt(requestId: string, bytes: Uint8Array): object {
    return JSON.parse(this.box.open(requestId, bytes).toString('utf8')) as object;
  }
}
