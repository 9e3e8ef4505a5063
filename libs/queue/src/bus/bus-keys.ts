import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import { type Clock, deriveKey, systemClock } from '#common';
import { QueueKeys } from '../seal/queue-keys.js';

/** Models of one sender; a message that names more is not checked any further. */
const maxModels = 1_000;

/** Sets of models that begin with the same one and are looked at for the first time within a minute: each costs its keys. */
const maxNewSets = 20;
const newSetsPeriodMs = 60_000;
const maxIdLength = 200;

/** Keys of combinations of models that are kept. */
const maxCombinations = 1_000;

/** Everything before the 32 bytes of a key, in DER: Node reads no raw Ed25519 keys. */
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicKeyPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** Of HMAC-SHA256. */
const macBytes = 32;

/** `foreign`: this process has no key to tell. */
export type Verification = 'genuine' | 'forged' | 'foreign';

/**
 * Signs and verifies messages of the bus. A process with the key of the installation signs with an Ed25519 key derived from it,
 * which everybody can verify. A process with keys of models alone proves that it has them, to whoever has them too.
 */
export class BusKeys {
  /** The models whose keys this process has, in order; null: the key of the installation, or none at all. */
  readonly models: readonly string[] | null;
  /** No message can be signed or verified. */
  readonly isEmpty: boolean;
  private readonly keys: QueueKeys;
  private readonly signingKey: KeyObject | null;
  private readonly publicKeys: readonly KeyObject[];
  private readonly combined = new Map<string, readonly Buffer[]>();
  /** By first model. */
  private newSets = new Map<string, number>();
  private newSetsSinceMs = -Infinity;

  /** `sealKeys` as in `TransportOptions`. */
  constructor(
    sealKeys: readonly string[],
    private readonly clock: Clock = systemClock,
  ) {
    this.keys = new QueueKeys(sealKeys);
    this.models = this.keys.models?.toSorted() ?? null;
    this.isEmpty = this.keys.isEmpty;
    const own = this.keys.installation.map(signingKeyOf);
    const given = this.keys.busKeys.map(publicKeyOf);
    this.signingKey = own[0] ?? null;
    this.publicKeys = [...own.map((key) => createPublicKey(key)), ...given];
  }

  /** False with credentials made before there were signatures: those of api and ops cannot be verified. */
  get canVerifySignatures(): boolean {
    return this.publicKeys.length > 0;
  }

  /** Returns the proof that this process sent the bytes, in base64. */
  sign(bytes: Buffer): string {
    if (this.signingKey !== null) return sign(null, bytes, this.signingKey).toString('base64');
    const models = this.models ?? [];
    const macs = [this.keysOf(models.slice(0, 1)), this.keysOf(models)].map(([key]) => {
      if (key === undefined) throw new RangeError('There is no key to sign with.');
      return macOf(key, bytes);
    });
    return Buffer.concat(macs).toString('base64');
  }

  /** Whether a process with the key of the installation (`models` is null) or the keys of these models sent the bytes. */
  verify(models: readonly string[] | null, bytes: Buffer, proof: string): Verification {
    const given = Buffer.from(proof, 'base64');
    if (models === null) {
      const isGenuine = this.publicKeys.some((key) => verify(null, bytes, key, given));
      return isGenuine ? 'genuine' : 'forged';
    }
    if (!isScope(models)) return 'forged';
    // Who has the key of the first model pays for the keys of the others: made-up names cost the pool of their sender.
    const first = this.check(models.slice(0, 1), bytes, given.subarray(0, macBytes));
    if (first !== 'genuine') return first;
    if (!this.combined.has(JSON.stringify(models)) && this.isCrowded(models[0] ?? '')) return 'forged';
    return this.check(models, bytes, given.subarray(macBytes));
  }

  private check(models: readonly string[], bytes: Buffer, mac: Buffer): Verification {
    const keys = this.keysOf(models);
    if (keys.length === 0) return 'foreign';
    return keys.some((key) => isEqual(macOf(key, bytes), mac)) ? 'genuine' : 'forged';
  }

  private isCrowded(firstModel: string): boolean {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.newSetsSinceMs > newSetsPeriodMs) {
      this.newSetsSinceMs = nowMs;
      this.newSets = new Map();
    }
    const count = this.newSets.get(firstModel) ?? 0;
    this.newSets.set(firstModel, count + 1);
    return count >= maxNewSets;
  }

  /** One key for each key of the installation that the keys of these models come from. */
  private keysOf(models: readonly string[]): readonly Buffer[] {
    const name = JSON.stringify(models);
    const known = this.combined.get(name);
    if (known !== undefined) return known;
    const ofEach = models.map((modelId) => this.keys.keysOf(modelId));
    const count = Math.min(...ofEach.map((keys) => keys.length));
    const combined = Array.from({ length: Number.isFinite(count) ? count : 0 }, (_, index) =>
      combine(models.map((modelId, position) => [modelId, ofEach[position]?.[index] ?? ''])),
    );
    // Names come from messages of others.
    if (this.combined.size >= maxCombinations) this.combined.clear();
    this.combined.set(name, combined);
    return combined;
  }
}

/** Returns the key by which others verify what holders of a key of the installation sign, as 64 hex digits. */
export function busPublicKeyOf(installationKey: string): string {
  const spki = createPublicKey(signingKeyOf(installationKey)).export({ format: 'der', type: 'spki' });
  return spki.subarray(publicKeyPrefix.length).toString('hex');
}

function signingKeyOf(installationKey: string): KeyObject {
  const seed = deriveKey(installationKey, 'bus signatures');
  return createPrivateKey({ key: Buffer.concat([privateKeyPrefix, seed]), format: 'der', type: 'pkcs8' });
}

function publicKeyOf(hex: string): KeyObject {
  return createPublicKey({
    key: Buffer.concat([publicKeyPrefix, Buffer.from(hex, 'hex')]),
    format: 'der',
    type: 'spki',
  });
}

/** Only who has every one of these keys has the result. */
function combine(keys: readonly (readonly [modelId: string, key: string])[]): Buffer {
  const hash = createHash('sha256').update(JSON.stringify(keys)).digest('hex');
  return deriveKey(hash, 'bus of models');
}

function macOf(key: Buffer, bytes: Buffer): Buffer {
  return createHmac('sha256', key).update(bytes).digest();
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

/** In order and each once: one set of models has one name. */
function isScope(models: readonly string[]): boolean {
  return (
    models.length > 0 &&
    models.length <= maxModels &&
    models.every(
      (id, index) => id !== '' && id.length <= maxIdLength && (index === 0 || (models[index - 1] ?? '') < id),
    )
  );
}
