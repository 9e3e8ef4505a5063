import { bytesToHex, hexToBytes } from '@noble/hashes/utils';
import { parseSevReport } from '../quotes/sev-report.js';
import { parseTdxQuote } from '../quotes/tdx-quote.js';
import { type Evidence, EvidenceError, type EvidenceReader } from './evidence.js';
import { localMachine, type Machine } from './machine.js';
import { TsmReportReader } from './tsm-report.js';

const socket = '/var/run/dstack.sock';

/** Reads TDX quotes from the agent that dstack runs beside its containers, which have no configfs. */
class DstackReader implements EvidenceReader {
  readonly provider = 'tdx';

  constructor(private readonly machine: Machine) {}

  async read(reportData: Uint8Array): Promise<Evidence> {
    const body = { report_data: bytesToHex(reportData) };
    const answer = await this.machine.post({ socket, path: '/GetQuote', body }).catch((error: Error) => {
      throw new EvidenceError(`${socket} does not answer: ${error.message}`);
    });
    const { quote, event_log: eventLog } = (answer ?? {}) as { quote?: unknown; event_log?: unknown };
    if (typeof quote !== 'string' || !/^(?:0x)?(?:[0-9a-f]{2})+$/i.test(quote)) {
      throw new EvidenceError(`${socket} returned no quote`);
    }
    return { quote: hexToBytes(quote.replace(/^0x/, '')), ...(typeof eventLog === 'string' && { eventLog }) };
  }
}

/** `auto`: whatever trusted hardware the machine has. */
export type TeeChoice = 'auto' | 'tdx' | 'sev-snp' | 'software';

/** Older kernels give SEV-SNP reports through this device only. */
const sevDevice = '/dev/sev-guest';
const sevDeviceReason =
  `${sevDevice} exists, but reports come from it by an ioctl, which Node.js cannot make without native code. ` +
  'Use a kernel of 6.7 or later, which also has them in configfs';

/**
 * Finds a reader that works, which it proves by reading evidence once. Null for `software`. Rejects with an
 * `EvidenceError` that says why each reader failed: nothing falls back to `software`.
 */
export async function openEvidence(choice: TeeChoice, machine: Machine = localMachine): Promise<EvidenceReader | null> {
  if (choice === 'software') return null;
  const reasons: string[] = [];
  for (const reader of readersOf(choice, machine)) {
    try {
      await reader.read(new Uint8Array(64));
      return reader;
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  if (choice !== 'tdx' && (await machine.exists(sevDevice))) reasons.push(sevDeviceReason);
  throw new EvidenceError(reasons.join('; '));
}

function readersOf(choice: Exclude<TeeChoice, 'software'>, machine: Machine): EvidenceReader[] {
  const tdx = [new TsmReportReader(machine, 'tdx'), new DstackReader(machine)];
  const sev = [new TsmReportReader(machine, 'sev-snp')];
  const chosen = { auto: [...tdx, ...sev], tdx, 'sev-snp': sev }[choice];
  return chosen.map((reader) => new CheckedReader(reader));
}

/** Passes on evidence only if it is about the bytes that were given. */
class CheckedReader implements EvidenceReader {
  constructor(private readonly reader: EvidenceReader) {}

  get provider(): EvidenceReader['provider'] {
    return this.reader.provider;
  }

  async read(reportData: Uint8Array): Promise<Evidence> {
    const evidence = await this.reader.read(reportData);
    const parse = this.provider === 'tdx' ? parseTdxQuote : parseSevReport;
    const found = parse(evidence.quote)?.reportData;
    if (found === undefined) throw new EvidenceError(`what was returned is no ${this.provider} evidence`);
    if (!Buffer.from(found).equals(reportData)) throw new EvidenceError('the evidence is about other bytes');
    return evidence;
  }
}
