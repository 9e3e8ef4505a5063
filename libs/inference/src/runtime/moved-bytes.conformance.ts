import { vi } from 'vitest';
import { DeviceSession } from './c-api/device-session.js';

type Side = 'bytesIn' | 'bytesOut';

/**
 * Watches the sessions that are opened from here on, until mocks are restored. Returns a function that adds up what all of
 * them have moved by then; a session counts the bytes of those opened beside it.
 */
export function watchMovedBytes(): (side: Side) => number {
  const sessions: DeviceSession[] = [];
  const open = DeviceSession.open.bind(DeviceSession);
  vi.spyOn(DeviceSession, 'open').mockImplementation(async (...graph) => {
    const session = await open(...graph);
    sessions.push(session);
    return session;
  });
  const openBeside = vi.spyOn(DeviceSession.prototype, 'openBeside');
  return (side) => {
    const beside: unknown[] = openBeside.mock.settledResults.map(({ value }) => value);
    return sessions.filter((session) => !beside.includes(session)).reduce((sum, session) => sum + session[side], 0);
  };
}
