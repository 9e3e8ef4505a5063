import { SecretBox, type SecretKeys } from '#platform/encryption';

/** Encrypts the payloads of open jobs at rest, each bound to its request id. */
export class PayloadCipher {
  private readonly box: SecretBox;

  /** `purpose` separates the payloads of one feature from those of another. */
  constructor(secretKeys: SecretKeys, purpose = 'job payloads') {
    this.box = new SecretBox(secretKeys, purpose);
  }

  encrypt(requestId: string, payload: object): Uint8Array<ArrayBuffer> {
    return this.box.seal(requestId, JSON.stringify(payload));
  }

  /** Throws when the key differs, or the bytes belong to another request. */
  decrypt(requestId: string, bytes: Uint8Array): object {
    return JSON.parse(this.box.open(requestId, bytes).toString('utf8')) as object;
  }
}
