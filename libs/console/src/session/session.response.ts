import type { ConsoleSession } from '#accounts';

/** What a session may see: its own key, its account, or the whole installation. */
export type SessionRole = 'inference' | 'admin' | 'operator';

/** A session of the console, as its pages get it. */
export interface SessionResponse {
  role: SessionRole;
  account: { id: string; name: string };
  key: { id: string; description: string; last6: string };
  /** Every request of the session repeats it in `x-sluice-csrf`. */
  csrf: string;
  expiresAt: string;
  version: string;
}

export function presentSession(session: ConsoleSession, version: string): SessionResponse {
  const { accountId, accountName, apiKeyId, description, last6, csrf, expiresAt } = session;
  return {
    role: roleOf(session),
    account: { id: accountId, name: accountName },
    key: { id: apiKeyId, description, last6 },
    csrf,
    expiresAt: expiresAt.toISOString(),
    version,
  };
}

function roleOf({ kind, isOperator }: ConsoleSession): SessionRole {
  if (kind !== 'ADMIN') return 'inference';
  return isOperator ? 'operator' : 'admin';
}
