/** A worker that claims sticky jobs of one model, as this process knows it. */
export interface Candidate {
  readonly workerId: string;
  /** Requests that it can run beside those it has, as far as is known. */
  readonly room: number;
  /** Requests that it has from this process: known to the last. */
  readonly load: number;
  /** Slots above those that it fills, for jobs that go first. */
  readonly spareSlots: number;
}

/** `alone`: nobody to choose from. `full`: whoever is free first is better than anybody in particular. */
export type Choice = { readonly workerId: string } | { readonly refusal: 'alone' | 'full' };

/** No worker is given more than this part above its fair share because of what it holds. */
const loadFactor = 1.25;

/**
 * The worker for a key: rendezvous hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam, 2016). Every key ranks the
 * workers in an order of its own; the first with room below its share is taken. The same answer in every process that
 * sees the same workers, without asking anybody, and a worker that comes or goes moves the keys of one share alone.
 *
 * Shares are of the load that this process makes. What others make is known from heartbeats and up to a second old:
 * measured, conversations that were sent away for it lost more than they won. Where every process bounds its own part,
 * the whole is bounded.
 */
export function chooseWorker(key: string, candidates: readonly Candidate[]): Choice {
  if (candidates.length < 2) return { refusal: 'alone' };
  const total = candidates.reduce((sum, { load }) => sum + load, 0);
  const share = Math.ceil((loadFactor * (total + 1)) / candidates.length);
  let best: { workerId: string; rank: number } | null = null;
  for (const { workerId, room, load } of candidates) {
    if (room <= 0 || load >= share) continue;
    const rank = rankOf(key, workerId);
    if (best === null || rank > best.rank || (rank === best.rank && workerId > best.workerId))
      best = { workerId, rank };
  }
  return best === null ? { refusal: 'full' } : { workerId: best.workerId };
}

/**
 * The worker whose spare slot a job takes: the one with the fewest requests from this process, the first in the order of the
 * key among equals. Whether the slot is free is known there alone.
 */
export function chooseSpareSlot(key: string, candidates: readonly Candidate[]): string | null {
  const least = Math.min(...candidates.map(({ load }) => load));
  const ranked = candidates
    .filter(({ load }) => load === least)
    .map(({ workerId }) => ({ workerId, rank: rankOf(key, workerId) }))
    .toSorted((one, other) => other.rank - one.rank);
  return ranked[0]?.workerId ?? null;
}

/** FNV-1a, stirred at the end: names that differ in their last letter alone must not rank alike. */
function rankOf(key: string, workerId: string): number {
  let hash = 0x811c9dc5;
  for (const text of [key, workerId]) {
    for (let index = 0; index < text.length; index += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    }
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
