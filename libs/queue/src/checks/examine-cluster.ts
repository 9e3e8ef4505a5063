import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreFinding } from '#platform/health';
import { createTransport } from '../transport/create-transport.js';
import type { TransportOptions } from '../contract/transport.js';

/** Every process sends a heartbeat a second. */
const listenMs = 2_500;

/** The processes of an installation that were seen on its bus. */
export interface ClusterExamination {
  /** Number of processes by role: `api`, `worker`, `ops`. */
  readonly processes: Readonly<Record<string, number>>;
  findings: readonly StoreFinding[];
}

/**
 * Listens to the bus. The signatures of the heartbeats show whether all processes have the same `SLUICE_QUEUE_KEY`.
 * Never rejects.
 */
export async function examineCluster(
  options: Pick<TransportOptions, 'url' | 'namespace' | 'sealKeys'>,
): Promise<ClusterExamination> {
  const finding = (text: string, severity: StoreFinding['severity'] = 'problem'): StoreFinding => {
    return { store: 'keys', severity, text };
  };
  if ((options.sealKeys ?? []).length === 0) {
    const text = 'SLUICE_QUEUE_KEY is not set here, so the keys of the processes are not compared: run this with it.';
    return { processes: {}, findings: [finding(text, 'note')] };
  }
  let transport;
  try {
    transport = await createTransport({ ...options, clientName: 'doctor', warn: () => undefined });
  } catch (error) {
    return { processes: {}, findings: [finding(`The queue cannot be used: ${(error as Error).message}`)] };
  }
  try {
    await sleep(listenMs);
    const findings: StoreFinding[] = [];
    const { refusedMessages: refused } = transport;
    if ((refused.get('forged') ?? 0) > 0) {
      findings.push(finding('A process has another SLUICE_QUEUE_KEY than this one: give all of them the same key.'));
    }
    if ((refused.get('unsigned') ?? 0) > 0) {
      findings.push(finding('A process has no SLUICE_QUEUE_KEY: give it the key of the others.'));
    }
    if ((refused.get('stale') ?? 0) > 0) {
      const text =
        'The clock of a process differs from that of this machine, so its messages are refused: synchronize both.';
      findings.push({ store: 'clock', severity: 'problem', text });
    }
    const processes: Record<string, number> = {};
    for (const { role } of transport.membership.list()) processes[role] = (processes[role] ?? 0) + 1;
    return { processes, findings };
  } finally {
    await transport.close();
  }
}
