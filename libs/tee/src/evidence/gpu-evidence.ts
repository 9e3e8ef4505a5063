import { EvidenceError } from './evidence.js';
import type { Machine } from './machine.js';

/** The driver's tool. */
const program = 'nvattest';

/**
 * Evidence of the GPUs for a nonce of 32 bytes as hex, as the driver's tool prints it. Null: the machine has no such tool.
 * Rejects with an `EvidenceError` when the tool fails, such as for a GPU that is not in confidential mode.
 */
export async function readGpuEvidence(machine: Machine, nonce: string): Promise<object[] | null> {
  let printed: string;
  try {
    printed = await machine.run(program, ['--format', 'json', 'collect-evidence', '--device', 'gpu', '--nonce', nonce]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new EvidenceError(`${program} failed: ${(error as Error).message}`);
  }
  return parseEvidence(printed, nonce);
}

/** Of each GPU there must be evidence for the nonce that was asked for. */
function parseEvidence(printed: string, nonce: string): object[] {
  const { evidences, result_code: resultCode } = parse(printed);
  if (resultCode !== 0 || !Array.isArray(evidences) || evidences.length === 0) {
    throw new EvidenceError(`${program} returned no evidence`);
  }
  for (const evidence of evidences as { nonce?: unknown; evidence?: unknown }[]) {
    const isOurs = typeof evidence?.evidence === 'string' && hexOf(evidence.nonce) === nonce.toLowerCase();
    if (!isOurs) throw new EvidenceError(`${program} returned evidence for another nonce`);
  }
  return evidences as object[];
}

function parse(printed: string): { evidences?: unknown; result_code?: unknown } {
  try {
    return (JSON.parse(printed) ?? {}) as object;
  } catch {
    throw new EvidenceError(`${program} printed no JSON`);
  }
}

function hexOf(nonce: unknown): string | null {
  return typeof nonce === 'string' ? nonce.replace(/^0x/i, '').toLowerCase() : null;
}
