/** A worker that claims sticky jobs of one model, as this process knows it. */
export interface Candidate {
  readonly workerId: string;
  /** Requests that it can run in addition to those it has, as far as this process knows. */
  readonly room: number;
  /** Requests that it has from this process, counted exactly. */
  readonly load: number;
  /** Slots above those that it fills, for jobs that go first. */
  readonly spareSlots: number;
}

/** `alone`: there is no choice. `full`: the first worker that becomes free is better than any particular one. */
export type Choice = { readonly workerId: string } | { readonly refusal: 'alone' | 'full' };

/** How far above its fair share a worker may go because of the jobs it already has. */
const loadFactor = 1.25;

/**
 * Chooses the worker for a key by rendezvous hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam, 2016). Every
 * key ranks the workers in its own order, and the first with room below its share gets the job. Every process that sees
 * the same workers gives the same answer without asking another. A worker that comes or goes moves only the keys of one
 * share.
 *
 * Shares count only the load from this process. The load from others is known from heartbeats and up to a second old.
 * In measurements, conversations that were moved because of it lost more than they won. When every process bounds its
 * own part, the whole is bounded.
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
 * Chooses the worker whose spare slot a job uses: the one with the fewest requests from this process, and the first in
 * the order of the key among equals. Only that worker knows whether the slot is free.
 */
export function chooseSpareSlot(key: string, candidates: readonly Candidate[]): string | null {
  const least = Math.min(...candidates.map(({ load }) => load));
  const ranked = candidates
    .filter(({ load }) => load === least)
    .map(({ workerId }) => ({ workerId, rank: rankOf(key, workerId) }))
    .toSorted((one, other) => other.rank - one.rank);
  return ranked[0]?.workerId ?? null;
}

/** FNV-1a with a final mix, so that names that differ only in their last letter do not rank alike. */
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
