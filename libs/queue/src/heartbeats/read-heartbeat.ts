import { isObject } from '#common/values';
import type { Heartbeat } from '../contract/heartbeat.js';

/**
 * A heartbeat in transit. Its count tells the sender how long it took, and others which of two is newer: PostgreSQL
 * delivers concurrent messages of several connections in any order. The count restarts with each run of a process.
 */
export type CountedHeartbeat = Heartbeat & { count?: number; run?: string };

const roles = ['api', 'worker', 'ops'];
const states = ['loading', 'ready', 'draining'];
const maxIdLength = 200;

/** Returns null for a text that no process of Sluice sends, because listeners rely on these members. */
export function readHeartbeat(text: string): CountedHeartbeat | null {
  const value: unknown = JSON.parse(text);
  return isHeartbeat(value) ? value : null;
}

function isHeartbeat(value: unknown): value is CountedHeartbeat {
  if (!isObject(value)) return false;
  const { processId, role, replyAddress, models, claims = [], worker, alive, count = 0, run = '' } = value;
  return (
    isId(processId) &&
    isOneOf(role, roles) &&
    (replyAddress === null || isId(replyAddress)) &&
    isArrayOf(models, isServedModel) &&
    isArrayOf(claims, isText) &&
    (worker === undefined || isWorker(worker)) &&
    typeof alive === 'boolean' &&
    isCount(count) &&
    isText(run)
  );
}

function isServedModel(value: unknown): boolean {
  if (!isObject(value)) return false;
  const {
    modelId,
    modalities,
    state,
    slots,
    running,
    spareSlots = 0,
    ended = 0,
    provider,
    providerNote = '',
    memory = {},
    run,
    tee,
  } = value;
  return (
    isText(modelId) &&
    isArrayOf(modalities, isText) &&
    isOneOf(state, states) &&
    isCount(slots) &&
    isCount(running) &&
    isCount(spareSlots) &&
    isCount(ended) &&
    isText(provider) &&
    isText(providerNote) &&
    isNumbers(memory) &&
    (run === undefined || isNumbers(run)) &&
    (tee === undefined || isTee(tee))
  );
}

function isTee(value: unknown): boolean {
  return isObject(value) && [value['publicKey'], value['address'], value['provider']].every(isId);
}

function isWorker(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { pools, budgets, withoutReplica, process, isDrained = false } = value;
  return (
    isArrayOf(pools, isText) &&
    isNumbers(budgets) &&
    isArrayOf(withoutReplica, isWithoutReplica) &&
    (process === undefined || isProcess(process)) &&
    typeof isDrained === 'boolean'
  );
}

function isProcess(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { host, pod = 'none', address, version, startedAtMs } = value;
  return [host, pod, address, version].every(isId) && isCount(startedAtMs);
}

function isWithoutReplica(value: unknown): boolean {
  return isObject(value) && isText(value['modelId']) && isText(value['cause']) && isText(value['reason']);
}

function isArrayOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

/** Accepts null as well, because JSON writes numbers that are not finite as null. */
function isNumbers(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((member) => member === null || typeof member === 'number');
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isId(value: unknown): boolean {
  return isText(value) && value !== '' && (value as string).length <= maxIdLength;
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isOneOf(value: unknown, all: readonly string[]): boolean {
  return all.some((known) => known === value);
}
