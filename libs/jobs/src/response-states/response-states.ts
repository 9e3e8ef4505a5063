import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import { ApiConfig } from '#platform/config';
import { SecretBox } from '#platform/encryption';
import { Injectable, Optional } from '#platform/injection';
import { Logger } from '#platform/logging';
import { type ResponseStateKey, ResponseStatesRepository } from './response-states.repository.js';

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/**
 * Responses that clients asked to store, with what is needed to continue them. Compressed, encrypted with a key derived
 * for this purpose, and bound to account and id.
 */
@Injectable()
export class ResponseStates {
  private readonly box: SecretBox;

  constructor(
    private readonly repository: ResponseStatesRepository,
    private readonly config: ApiConfig,
    private readonly logger: Logger,
    /** Bytes that an account may store. */
    @Optional() private readonly maxAccountBytes = 2 ** 30,
  ) {
    this.box = new SecretBox(config.secretKeys, 'response states');
  }

  /** True when the operator allows stored responses. */
  get isOn(): boolean {
    return this.config.storedResponsesMs > 0;
  }

  /** Resolves to true when an account may store another response. */
  async hasRoom(accountId: string): Promise<boolean> {
    return (await this.repository.bytesOf(accountId)) < this.maxAccountBytes;
  }

  async add(key: ResponseStateKey, state: object): Promise<void> {
    const packed = await zip(JSON.stringify(state), { level: constants.Z_BEST_SPEED });
    await this.repository.add(key, this.box.seal(contextOf(key), packed), this.config.storedResponsesMs);
  }

  /**
   * Resolves to null for a response that is unknown, deleted, expired, of another account, or encrypted under another
   * key.
   */
  async find(key: ResponseStateKey): Promise<object | null> {
    const ciphertext = await this.repository.find(key);
    if (ciphertext === null) return null;
    try {
      return JSON.parse((await unzip(this.box.open(contextOf(key), ciphertext))).toString('utf8')) as object;
    } catch (error) {
      this.logger.warn({ responseId: key.id, error }, 'a stored response cannot be opened');
      return null;
    }
  }

  /** Resolves to false if there is none. */
  async delete(key: ResponseStateKey): Promise<boolean> {
    return await this.repository.delete(key);
  }
}

function contextOf({ id, accountId }: ResponseStateKey): string {
  return `${accountId} ${id}`;
}
