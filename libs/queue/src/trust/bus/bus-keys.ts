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

/** The most models of one sender. A message that names more is not checked any further. */
const maxModels = 1_000;

/**
 * The most sets of models with the same first model that are derived within a minute: each new set costs the derivation
 * of its keys.
 */
const maxNewSets = 20;
const newSetsPeriodMs = 60_000;
const maxIdLength = 200;

/** The most sets of models whose keys are remembered. */
const maxCombinations = 1_000;

/** Everything before the 32 bytes of a key, in DER: Node reads no raw Ed25519 keys. */
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicKeyPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** Length of an HMAC-SHA256. */
const macBytes = 32;

/** `foreign`: this process has no key to verify with. */
export type Verification = 'genuine' | 'forged' | 'foreign';

/**
 * Signs and verifies messages of the bus. A process with the key of the installation signs with an Ed25519 key derived
 * from it, which every process can verify. A process that has only keys of models proves that to other processes with
 * the same keys.
 */
export class BusKeys {
  /**
   * The models whose keys this process has, in order. Null when it has the key of the installation, or no key at all.
   */
  readonly models: readonly string[] | null;
  /** True when there is no key to sign or verify with. */
  readonly isEmpty: boolean;
  private readonly keys: QueueKeys;
  private readonly signingKey: KeyObject | null;
  private readonly publicKeys: readonly KeyObject[];
  /** Keys by the name of their set. The set that was used last is at the end. */
  private readonly combined = new Map<string, readonly Buffer[]>();
  /** Counts of new sets, by their first model. */
  private newSets = new Map<string, number>();
  private newSetsSinceMs = -Infinity;

  /** Takes `sealKeys` as in `TransportOptions`. */
  constructor(
    sealKeys: readonly string[],
    private readonly clock: Clock = systemClock,
  ) {
    this.keys = new QueueKeys(sealKeys);
    this.models = this.keys.models?.toSorted() ?? null;
    this.isEmpty = this.keys.isEmpty;
    const signingKeys = this.keys.installation.map(signingKeyOf);
    const publicKeys = this.keys.busKeys.map(publicKeyOf);
    this.signingKey = signingKeys[0] ?? null;
    this.publicKeys = [...signingKeys.map((key) => createPublicKey(key)), ...publicKeys];
  }

  /** False with credentials from a version without signatures: messages of api and ops cannot be verified. */
  get canVerifySignatures(): boolean {
    return this.publicKeys.length > 0;
  }

  /** Returns the proof that this process sent the bytes, in base64. */
  sign(bytes: Buffer): string {
    if (this.signingKey !== null) return sign(null, bytes, this.signingKey).toString('base64');
    const models = this.models ?? [];
    const macs = [models.slice(0, 1), models].map((set) => {
      const keys = this.known(set) ?? this.derive(set);
      const [key] = keys;
      if (key === undefined) throw new RangeError('There is no key to sign with.');
      this.remember(set, keys);
      return macOf(key, bytes);
    });
    return Buffer.concat(macs).toString('base64');
  }

  /**
   * Says whether a process with the key of the installation (`models` is null) or with the keys of these models sent
   * the bytes.
   */
  verify(models: readonly string[] | null, bytes: Buffer, proof: string): Verification {
    const proofBytes = Buffer.from(proof, 'base64');
    if (models === null) {
      const isGenuine = this.publicKeys.some((key) => verify(null, bytes, key, proofBytes));
      return isGenuine ? 'genuine' : 'forged';
    }
    if (!isScope(models)) return 'forged';
    // Only a sender with the key of the first model makes this process derive the keys of the others. Made-up names
    // count against the sender's pool, and are not remembered.
    const firstModel = models.slice(0, 1);
    const firstKeys = this.known(firstModel) ?? this.derive(firstModel);
    const first = check(firstKeys, bytes, proofBytes.subarray(0, macBytes));
    if (first !== 'genuine') return first;
    this.remember(firstModel, firstKeys);
    const known = this.known(models);
    if (known === undefined && this.isCrowded(models[0] ?? '')) return 'forged';
    const keys = known ?? this.derive(models);
    // Sets that have no keys are remembered as well: peers that share only the first model send one with every
    // heartbeat.
    this.remember(models, keys);
    return check(keys, bytes, proofBytes.subarray(macBytes));
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

  private known(models: readonly string[]): readonly Buffer[] | undefined {
    return this.combined.get(nameOf(models));
  }

  private remember(models: readonly string[], keys: readonly Buffer[]): void {
    const name = nameOf(models);
    this.combined.delete(name);
    const [oldest] = this.combined.keys();
    if (oldest !== undefined && this.combined.size >= maxCombinations) this.combined.delete(oldest);
    this.combined.set(name, keys);
  }

  /** Derives one key for each key of the installation from which the keys of these models come. */
  private derive(models: readonly string[]): readonly Buffer[] {
    const keysOfModels = models.map((modelId) => this.keys.keysOf(modelId));
    const count = Math.min(...keysOfModels.map((keys) => keys.length));
    return Array.from({ length: Number.isFinite(count) ? count : 0 }, (_, index) =>
      combine(models.map((modelId, position) => [modelId, keysOfModels[position]?.[index] ?? ''])),
    );
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

/** Combines keys: only a process that has all of them can compute the result. */
function combine(keys: readonly (readonly [modelId: string, key: string])[]): Buffer {
  const hash = createHash('sha256').update(JSON.stringify(keys)).digest('hex');
  return deriveKey(hash, 'bus of models');
}

function check(keys: readonly Buffer[], bytes: Buffer, mac: Buffer): Verification {
  if (keys.length === 0) return 'foreign';
  return keys.some((key) => isEqual(macOf(key, bytes), mac)) ? 'genuine' : 'forged';
}

/** Returns the name by which a set is remembered. It is as short for many models as for one. */
function nameOf(models: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(models)).digest('base64');
}

function macOf(key: Buffer, bytes: Buffer): Buffer {
  return createHmac('sha256', key).update(bytes).digest();
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Returns true for models that are in order and named once each, so that one set has one name. */
function isScope(models: readonly string[]): boolean {
  return (
    models.length > 0 &&
    models.length <= maxModels &&
    models.every(
      (id, index) => id !== '' && id.length <= maxIdLength && (index === 0 || (models[index - 1] ?? '') < id),
    )
  );
}
