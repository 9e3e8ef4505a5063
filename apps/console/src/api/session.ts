/** Who is signed in, as `console/session` says. */
export interface Session {
  role: 'operator' | 'admin' | 'inference';
  account: { id: string; name: string };
  key: { id: string; description: string; last6: string };
  /** Sent with every request; without it the service ignores the cookie. */
  csrf: string;
  expiresAt: string;
  version: string;
}

export type SessionState =
  | { state: 'unknown' }
  /** `reason` is a sentence, or null at the first visit. */
  | { state: 'signed-out'; reason: string | null }
  | { state: 'signed-in'; session: Session };

let current: SessionState = { state: 'unknown' };
const listeners = new Set<(state: SessionState) => void>();

export function sessionState(): SessionState {
  return current;
}

export function setSession(state: SessionState): void {
  current = state;
  for (const listener of listeners) listener(state);
}

/** Called for a 401 to any request. Keeps the first reason. */
export function endSession(reason: string): void {
  if (current.state !== 'signed-out') setSession({ state: 'signed-out', reason });
}

export function onSession(listener: (state: SessionState) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
