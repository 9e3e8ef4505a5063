import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import type { Logger } from '#platform/logging';
import { SecretBox, type SecretKeys } from '#platform/encryption';
import type { ResponseStateKey, ResponseStatesRepository } from './response-states.repository.js';

const zip = promisify(gzip);
const unzip = promisify(gunzip);

export interface ResponseStatesOptions {
  repository: ResponseStatesRepository;
  /** 64 hex digits. */
  secretKeys: SecretKeys;
  /** How long a response is stored, in ms; 0: none is. */
  lifetimeMs: number;
  logger: Pick<Logger, 'warn'>;
  /** Bytes that an account may store; default: 1 GiB. */
  maxAccountBytes?: number;
}

/**
 * Responses that clients asked to store, with what is needed to continue them. Compressed, encrypted with a key derived
 * for this purpose, and bound to account and id.
 */
export class ResponseStates {
  private readonly box: SecretBox;
  private readonly maxAccountBytes: number;

  constructor(private readonly options: ResponseStatesOptions) {
    this.box = new SecretBox(options.secretKeys, 'response states');
    this.maxAccountBytes = options.maxAccountBytes ?? 2 ** 30;
  }

  /** Whether the operator allows it. */
  get isOn(): boolean {
    return this.options.lifetimeMs > 0;
  }

  /** Whether an account may store another response. */
  async hasRoom(accountId: string): Promise<boolean> {
    return (await this.options.repository.bytesOf(accountId)) < this.maxAccountBytes;
  }

  async add(key: ResponseStateKey, state: object): Promise<void> {
    const { repository, lifetimeMs } = this.options;
    const packed = await zip(JSON.stringify(state), { level: constants.Z_BEST_SPEED });
    await repository.add(key, this.box.seal(contextOf(key), packed), lifetimeMs);
  }

  /** Null for a response that is unknown, deleted, expired, of another account, or encrypted under another key. */
  async find(key: ResponseStateKey): Promise<object | null> {
    const ciphertext = await this.options.repository.find(key);
    if (ciphertext === null) return null;
    try {
      return JSON.parse((await unzip(this.box.open(contextOf(key), ciphertext))).toString('utf8')) as object;
    } catch (error) {
      this.options.logger.warn({ responseId: key.id, error }, 'a stored response cannot be opened');
      return null;
    }
  }

  /** False if there is none. */
  async delete(key: ResponseStateKey): Promise<boolean> {
    return await this.options.repository.delete(key);
  }
}

function contextOf({ id, accountId }: ResponseStateKey): string {
  return `${accountId} ${id}`;
}
